import { readFileSync } from 'node:fs';

/** The TLS options for MySQL; the texts are in PEM. */
export interface MysqlTls {
  /** The certificate authorities trusted to sign the server's certificate. */
  readonly ca: string;
  /** Whether the certificate must also be valid for the host of the URL. */
  readonly checksHost: boolean;
  /** The client's own certificate and key, both or neither. */
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

const FILES = ['ssl-ca', 'ssl-cert', 'ssl-key'];
const PARAMETERS = ['ssl-mode', ...FILES];
/** The most characters of a parameter's name that a message repeats. */
const NAME_MAX = 32;

/**
 * Reads the TLS options from the parameters of a MySQL URL, under the names that MySQL's own programs use; undefined
 * without TLS. The modes that check no certificate, `PREFERRED` and `REQUIRED`, are not supported: they do not prevent
 * man-in-the-middle attacks.
 *
 * @throws Error whose message ends a sentence that begins with the setting's name; its only value is a valid `ssl-mode`
 */
export function mysqlTlsOf(parameters: URLSearchParams): MysqlTls | undefined {
  for (const name of parameters.keys()) {
    if (!PARAMETERS.includes(name))
      throw new Error(
        `must have no parameters but ${PARAMETERS.join(', ')}; got ${JSON.stringify(name.slice(0, NAME_MAX))}.`,
      );
    const count = parameters.getAll(name).length;
    if (count > 1) throw new Error(`must have the parameter ${name} once; got ${count}.`);
    if (parameters.get(name) === '') throw new Error(`must have a value for ${name}; got none.`);
  }
  const mode = parameters.get('ssl-mode') ?? 'DISABLED';
  if (mode === 'DISABLED') {
    if (FILES.some((name) => parameters.has(name)))
      throw new Error(
        `must have ssl-mode=VERIFY_IDENTITY or VERIFY_CA where it names files for TLS; got ${parameters.get('ssl-mode') ?? 'none'}.`,
      );
    return undefined;
  }
  if (mode !== 'VERIFY_IDENTITY' && mode !== 'VERIFY_CA')
    throw new Error('must have VERIFY_IDENTITY, VERIFY_CA or DISABLED as ssl-mode; got another one.');
  if (parameters.has('ssl-cert') !== parameters.has('ssl-key'))
    throw new Error('must have both ssl-cert and ssl-key, or neither; got one.');
  const [ca, cert, key] = FILES.map((name) => contentOf(name, parameters.get(name)));
  if (ca === undefined) throw new Error(`must have ssl-ca where it has ssl-mode=${mode}; got none.`);
  return { ca, checksHost: mode === 'VERIFY_IDENTITY', cert, key };
}

function contentOf(name: string, file: string | null): string | undefined {
  try {
    return file === null ? undefined : readFileSync(file, 'utf8');
  } catch {
    throw new Error(`must name a readable file in ${name}; got one that cannot be read.`);
  }
}
