import { onTestFinished } from 'vitest';
import { type Program, Programs } from './process.js';
import { post } from './requests.js';
import { tokenFor } from './service.js';

export const ROUTE = { method: 'GET', path: '/users/:id', middleware: ['👩‍👩‍👧'], handler: 'getUser' };

/** Programs in a temporary folder. When the test ends, they are killed and the folder is removed. */
export function programsOfTest(): Programs {
  const programs = new Programs();
  onTestFinished(() => programs.end());
  return programs;
}

/** The base URL of the REST gateway, once the program listens. */
export async function httpUrlOf(program: Program): Promise<string> {
  return String((await program.line('listening'))['http']);
}

/** Creates a route over REST, on a separate connection. */
export function createOver(
  url: string,
  token = tokenFor(),
  more: Record<string, string> = {},
): Promise<Response> {
  const own = { authorization: `Bearer ${token}`, connection: 'close', ...more };
  return post({ httpUrl: url }, ROUTE, own);
}

/** Gets a route over REST. Returns the response body. */
export async function getOver(url: string, id: string, token = tokenFor()): Promise<unknown> {
  const response = await fetch(`${url}/v1/routing/${id}`, { headers: { authorization: `Bearer ${token}` } });
  return response.json();
}

/** Creates a route over REST and returns it. @throws Error if that fails */
export async function createRouteOver(
  url: string,
  token?: string,
): Promise<{ id: string; createdAt: string }> {
  const response = await createOver(url, token);
  if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as { id: string; createdAt: string };
}
