import { failures } from '@route-registry/transcoder';
import { Counter, type Registry } from 'prom-client';
import { CODES } from '../../calls/failures.js';

/** Counts a refusal by its reason. */
export type CountRefusal = (reason: string | undefined) => void;

/** The reasons that the gRPC server and the REST gateway may give. */
const REASONS = {
  grpc: new Set<string>(Object.keys(CODES)),
  rest: new Set([...Object.keys(CODES), ...Object.keys(failures), 'UPSTREAM_UNAVAILABLE']),
};
/** The label of any other reason, which only another version of the gRPC server can give. */
const OTHER = 'other';

/** Counts refused and failed calls and requests, by reason. */
export class RefusalCounter {
  readonly #refusals: Counter<'face' | 'reason'>;

  constructor(registry: Registry) {
    this.#refusals = new Counter({
      name: 'route_registry_refusals_total',
      help: 'Calls and requests that were refused or failed, by the reason in the error.',
      labelNames: ['face', 'reason'],
      registers: [registry],
    });
  }

  /** Starts counting those over one protocol, from zero for every reason. */
  of(face: 'grpc' | 'rest'): CountRefusal {
    const reasons = REASONS[face];
    for (const reason of [...reasons, OTHER]) this.#refusals.inc({ face, reason }, 0);
    return (reason = OTHER) => {
      this.#refusals.inc({ face, reason: reasons.has(reason) ? reason : OTHER });
    };
  }
}
