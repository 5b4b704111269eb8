import { failures } from '@route-registry/transcoder/description';
import { CODES } from '../calls/failures.js';
import type { MetricSet } from './metric-set.js';
import { METRICS } from './metric-table.js';

/** Where a call came in. */
export type Face = 'grpc' | 'rest';

/** Counts a refusal by its reason. */
export type CountRefusal = (reason: string | undefined) => void;

/** The reasons that each face may give. */
const REASONS: Readonly<Record<Face, readonly string[]>> = {
  grpc: Object.keys(CODES),
  rest: [...new Set([...Object.keys(CODES), ...Object.keys(failures), 'UPSTREAM_UNAVAILABLE'])],
};
/** Stands for a reason that is not among them, which only another version of the gRPC server can give. */
const OTHER = 'other';

/** Counts the calls and requests that were refused or failed, by reason. */
export class Refusals {
  readonly #counts: { readonly face: Face; readonly ofReason: Map<string, number> }[] = [];

  constructor(metrics: MetricSet) {
    metrics.read(METRICS.refusals, () =>
      this.#counts.flatMap(({ face, ofReason }) =>
        Array.from(ofReason, ([reason, value]) => ({ labels: { face, reason }, value })),
      ),
    );
  }

  /** Begins to count those of a face, from zero for every reason. */
  of(face: Face): CountRefusal {
    const ofReason = new Map([...REASONS[face], OTHER].map((reason) => [reason, 0]));
    this.#counts.push({ face, ofReason });
    return (given = OTHER) => {
      const reason = ofReason.has(given) ? given : OTHER;
      ofReason.set(reason, (ofReason.get(reason) ?? 0) + 1);
    };
  }
}
