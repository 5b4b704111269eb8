/** Metrics in Prometheus' text format (https://prometheus.io/docs/instrumenting/exposition_formats/). */
export interface MetricText {
  /** The type of each metric, by name. */
  readonly types: ReadonlyMap<string, string>;
  /** The sorted label names of each metric, without `le`. */
  readonly labels: ReadonlyMap<string, readonly string[]>;
  /** The value of each sample, by its name and labels as in the text: `name{label="value"}`. */
  readonly values: ReadonlyMap<string, number>;
}

const TYPE = /^# TYPE (\S+) (\S+)$/gm;
const SAMPLE = /^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$/gm;
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g;
const PART_OF_HISTOGRAM = /_(?:bucket|sum|count)$/;

/** Parses metrics in Prometheus' text format. */
export function readMetrics(text: string): MetricText {
  const types = new Map([...text.matchAll(TYPE)].map(([, name = '', type = '']) => [name, type]));
  const labels = new Map<string, readonly string[]>();
  const values = new Map<string, number>();
  for (const [, name = '', labelText = '', value] of text.matchAll(SAMPLE)) {
    const whole = name.replace(PART_OF_HISTOGRAM, '');
    const metric = types.has(name) ? name : whole;
    const names = [...labelText.matchAll(LABEL)]
      .map(([, label = '']) => label)
      .filter((label) => label !== 'le');
    labels.set(metric, [...new Set([...(labels.get(metric) ?? []), ...names])].sort());
    values.set(labelText === '' ? name : `${name}{${labelText}}`, Number(value));
  }
  return { types, labels, values };
}

/** The sum of all samples with this name and these labels. They may have other labels, too. */
export function sumOf(
  { values }: MetricText,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return [...values]
    .filter(([sample]) => sample.split('{')[0] === name && wanted.every((part) => sample.includes(part)))
    .reduce((sum, [, value]) => sum + value, 0);
}
