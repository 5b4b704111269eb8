import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** The URL at which the main process makes what test files ask for. */
    onDemand: string;
  }
}

/** What the global setup makes when the first test file asks for it. @throws Error with why it cannot be made */
export async function fetchSupply(name: string): Promise<unknown> {
  const response = await fetch(`${inject('onDemand')}/${name}`, { headers: { connection: 'close' } });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}
