/** Metrics in Prometheus' text format (https://prometheus.io/docs/instrumenting/exposition_formats/). */
export interface MetricText {
  /** The type of each metric, by name. */
  readonly types: ReadonlyMap<string, string>;
  /** The sorted label names that any sample of each metric has, without `le`. */
  readonly labels: ReadonlyMap<string, readonly string[]>;
  /** The value of each sample, by its name and labels as in the text: `name{label="value"}`. */
  readonly values: ReadonlyMap<string, number>;
}

const TYPE = /^# TYPE (\S+) (\S+)$/gm;
const SAMPLE = /^([a-zA-Z0-9_:]+)(?:\{(.*)\})? (\S+)$/gm;
const LABEL = /([a-zA-Z0-9_]+)="((?:[^"\\]|\\.)*)"/g;
const PART_OF_HISTOGRAM = /_(?:bucket|sum|count)$/;

/** Parses metrics in Prometheus' text format. */
export function readMetrics(text: string): MetricText {
  const types = new Map([...text.matchAll(TYPE)].map(([, name = '', type = '']) => [name, type]));
  const labels = new Map<string, readonly string[]>();
  const values = new Map<string, number>();
  for (const [, name = '', labelText = '', value] of text.matchAll(SAMPLE)) {
    // The samples of a histogram have a suffix that its TYPE line has not.
    const metric = types.has(name) ? name : name.replace(PART_OF_HISTOGRAM, '');
    const names = [...labelsIn(labelText).keys()].filter((label) => label !== 'le');
    labels.set(metric, [...new Set([...(labels.get(metric) ?? []), ...names])].sort());
    values.set(labelText === '' ? name : `${name}{${labelText}}`, Number(value));
  }
  return { types, labels, values };
}

/** Labels, each with its value as in the text. */
function labelsIn(text: string): ReadonlyMap<string, string> {
  return new Map([...text.matchAll(LABEL)].map(([, label = '', value = '']) => [label, value]));
}

/** The sum of all samples with this name and these labels. They may have other labels, too. */
export function sumOf(
  { values }: MetricText,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const wanted = Object.entries(labels);
  const isWanted = (sample: string): boolean => {
    const own = labelsIn(sample);
    return sample.split('{')[0] === name && wanted.every(([label, value]) => own.get(label) === value);
  };
  return [...values].filter(([sample]) => isWanted(sample)).reduce((sum, [, value]) => sum + value, 0);
}
