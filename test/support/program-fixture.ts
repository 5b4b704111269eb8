import { onTestFinished } from 'vitest';
import { type Program, Programs } from './process.js';
import { post } from './requests.js';
import { tokenFor } from './service.js';

export const ROUTE = { method: 'GET', path: '/users/:id', middleware: ['👩‍👩‍👧'], handler: 'getUser' };

/** Programs that end with the test, in a folder that goes with it. */
export function programsOfTest(): Programs {
  const programs = new Programs();
  onTestFinished(() => programs.end());
  return programs;
}

/** The base of all REST paths, once the program listens. */
export async function httpUrlOf(program: Program): Promise<string> {
  return String((await program.line('listening'))['http']);
}

/** Creates over REST, on a connection of its own. */
export function createOver(
  url: string,
  token = tokenFor(),
  more: Record<string, string> = {},
): Promise<Response> {
  const own = { authorization: `Bearer ${token}`, connection: 'close', ...more };
  return post({ httpUrl: url }, ROUTE, own);
}

/** What the service answers to a get over REST. */
export async function getOver(url: string, id: string, token = tokenFor()): Promise<unknown> {
  const response = await fetch(`${url}/v1/routing/${id}`, { headers: { authorization: `Bearer ${token}` } });
  return response.json();
}

/** A route that was created. @throws Error where it was not */
export async function created(url: string, token?: string): Promise<{ id: string; createdAt: string }> {
  const response = await createOver(url, token);
  if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as { id: string; createdAt: string };
}
