import { failures } from '@route-registry/transcoder/description';
import { CODES } from '../../calls/failures.js';
import type { MetricSet } from './metric-set.js';
import { METRICS } from './metric-table.js';

/** The interface on which a call arrived. */
type Face = 'grpc' | 'rest';

/** Counts a refusal by its reason. */
export type CountRefusal = (reason: string | undefined) => void;

/** The reasons that each interface may give. */
const REASONS: Readonly<Record<Face, readonly string[]>> = {
  grpc: Object.keys(CODES),
  rest: [...new Set([...Object.keys(CODES), ...Object.keys(failures), 'UPSTREAM_UNAVAILABLE'])],
};
/** The label of any other reason, which only another version of the gRPC server can give. */
const OTHER = 'other';

/** Counts refused and failed calls and requests, by reason. */
export class Refusals {
  readonly #counts: { readonly face: Face; readonly ofReason: Map<string, number> }[] = [];

  constructor(metrics: MetricSet) {
    metrics.read(METRICS.refusals, () =>
      this.#counts.flatMap(({ face, ofReason }) =>
        Array.from(ofReason, ([reason, value]) => ({ labels: { face, reason }, value })),
      ),
    );
  }

  /** Starts counting those of an interface, from zero for every reason. */
  of(face: Face): CountRefusal {
    const ofReason = new Map([...REASONS[face], OTHER].map((reason) => [reason, 0]));
    this.#counts.push({ face, ofReason });
    return (given = OTHER) => {
      const reason = ofReason.has(given) ? given : OTHER;
      ofReason.set(reason, (ofReason.get(reason) ?? 0) + 1);
    };
  }
}
