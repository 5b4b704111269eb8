import { Backoff } from './backoff.js';
import { Connection, type Passenger } from './connection.js';

/** The way to a gRPC server: at any time at most one connection that takes calls, made when a call needs it. */
export class Channel {
  readonly #address: string;
  readonly #backoff = new Backoff();
  #connection: Connection | undefined;
  #closed = false;

  /** @param address as `Connection` takes it. */
  constructor(address: string) {
    this.#address = address;
  }

  /** Finds the passenger a connection, or tells at once that there is none. */
  carry(passenger: Passenger): void {
    if (this.#connection?.takesCalls === true) this.#connection.admit(passenger);
    else if (this.#closed) passenger.leave('The channel is closed.');
    else if (this.#backoff.running) passenger.leave('The last attempt to connect has just failed.');
    else this.#connect().admit(passenger);
  }

  /** Forgets a passenger who waits no longer. */
  forget(passenger: Passenger): void {
    this.#connection?.forget(passenger);
  }

  /** Calls that are under way go on to their end; later ones find no connection. */
  close(): void {
    this.#closed = true;
    this.#connection?.close();
  }

  #connect(): Connection {
    this.#backoff.begin();
    this.#connection = new Connection(this.#address, () => {
      this.#backoff.reset();
    });
    return this.#connection;
  }
}
