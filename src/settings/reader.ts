import { unusableValue } from './kinds.js';
import { type Setting, type SettingName, SETTINGS, type SettingValue } from './table.js';

/** Reads settings one by one and collects their problems. An empty value counts as unset. */
export class SettingsReader {
  /** One line for each problem. */
  readonly problems: string[] = [];
  readonly #env: NodeJS.ProcessEnv;

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  /** Whether Node checks the certificates of servers: a variable of its own, for the whole process, may forbid that. */
  get checksCertificates(): boolean {
    return this.#env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0';
  }

  isGiven(name: SettingName): boolean {
    return Boolean(this.#env[name]);
  }

  /** The text of a setting, or else its default: for rules between settings, whose values may have been refused. */
  text(name: SettingName): string | undefined {
    return this.isGiven(name) ? this.#env[name] : SETTINGS[name][1];
  }

  /** The value of a setting. A value that cannot be used is a problem, and the default takes its place. */
  get<Name extends SettingName>(name: Name): SettingValue<Name> {
    const [kind, fallback]: Setting = SETTINGS[name];
    const read = (text: string | undefined) =>
      (text === undefined ? undefined : kind(text)) as SettingValue<Name>;
    try {
      return read(this.text(name));
    } catch (error) {
      this.refuse(name, (error as Error).message);
      return read(fallback);
    }
  }

  /** @param problem the end of a sentence: `must be …; got ….` */
  refuse(name: SettingName, problem: string): void {
    this.problems.push(`${name} ${problem}`);
  }

  /**
   * Refuses a value that does not fit another setting, and shows it, so it must not be secret.
   *
   * @param allowed the middle of a sentence: `must be …`
   */
  refuseValue(name: SettingName, allowed: string): void {
    this.refuse(name, unusableValue(this.text(name) ?? '', allowed).message);
  }
}
