import type { FuzzCase, Outcome } from './world.js';

/** After this many failures, more cases would not tell anything new. */
const ENOUGH = 10;

/** The results of a run. */
export class Tally {
  readonly #seed: number;
  readonly #underWay = new Set<number>();
  /** The number of responses by code. */
  readonly answers = new Map<string, number>();
  /** A readable paragraph for each failure. */
  readonly failures: string[] = [];
  cases = 0;
  /** Whether the service has ended. */
  dead = false;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** Whether the run should stop early: the service has ended, or enough cases have failed. */
  get hopeless(): boolean {
    return this.dead || this.failures.length >= ENOUGH;
  }

  begin(caseNumber: number): void {
    this.#underWay.add(caseNumber);
  }

  end(caseNumber: number, { answers, problems }: Outcome, { shown }: FuzzCase): void {
    this.#underWay.delete(caseNumber);
    this.cases++;
    for (const answer of answers) this.answers.set(answer, (this.answers.get(answer) ?? 0) + 1);
    if (problems.length === 0) return;
    this.failures.push(
      [
        `FAILED case ${caseNumber} of seed ${this.#seed}`,
        ...problems,
        this.#replay([caseNumber]),
        `sent: ${shown()}`,
      ].join('\n  '),
    );
  }

  /** Records a problem that no response shows. One of the running cases is the cause. */
  alarm(problem: string): void {
    if (problem.startsWith('The service ended')) this.dead = true;
    this.failures.push([`FAILED outside the cases`, problem, this.#replay([...this.#underWay])].join('\n  '));
  }

  /** Records problems that show only at the end of the run. */
  conclude(problems: readonly string[]): void {
    for (const problem of problems) this.failures.push(`FAILED in the end\n  ${problem}`);
  }

  #replay(numbers: readonly number[]): string {
    if (numbers.length === 0) return 'No case was running.';
    return `replay: npm run fuzz -- --seed ${this.#seed} --only ${numbers.join(',')}`;
  }
}
