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
  readonly #refusals: Counter<'protocol' | 'reason'>;

  constructor(registry: Registry) {
    this.#refusals = new Counter({
      name: 'route_registry_refusals_total',
      help: 'Calls and requests that were refused or failed, by the reason in the error.',
      labelNames: ['protocol', 'reason'],
      registers: [registry],
    });
  }

  /** Returns the counter for one protocol, with every reason starting at zero. */
  of(protocol: 'grpc' | 'rest'): CountRefusal {
    const reasons = REASONS[protocol];
    for (const reason of [...reasons, OTHER]) this.#refusals.inc({ protocol, reason }, 0);
    return (reason = OTHER) => {
      this.#refusals.inc({ protocol, reason: reasons.has(reason) ? reason : OTHER });
    };
  }
}
