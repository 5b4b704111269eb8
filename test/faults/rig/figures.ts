import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';

/** The file with the figures of a run, in its temporary folder. */
const FIGURES_FILE = 'figures';

/** Records a figure for the table that is printed at the end of the run. */
export function figure(title: string, values: Readonly<Record<string, string | number>>): void {
  const text = Object.entries(values)
    .map(([name, value]) => `${name} ${typeof value === 'number' ? roundedText(value) : value}`)
    .join(', ');
  appendFileSync(join(inject('temporaryFolder'), FIGURES_FILE), `${title}: ${text}\n`);
}

/** Prints the table of figures. @param folder the temporary folder of the run */
export function printFigures(folder: string): void {
  process.stderr.write(`\nMeasured:\n${figuresIn(folder)}`);
}

function figuresIn(folder: string): string {
  try {
    return readFileSync(join(folder, FIGURES_FILE), 'utf8');
  } catch {
    // No test has recorded a figure.
    return 'nothing\n';
  }
}

/** With three digits, or as a whole number. */
function roundedText(value: number): string {
  return Math.abs(value) >= 100
    ? Math.round(value).toLocaleString('en')
    : String(Number(value.toPrecision(3)));
}
