import { v7 } from 'uuid';

/** A UUIDv7 with this timestamp, in milliseconds since the epoch. */
export function uuidAt(msecs: number): string {
  return v7({ msecs });
}
