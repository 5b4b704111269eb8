import { expect } from 'vitest';
import type { GaleraNode } from './galera-node.js';

/** How long nodes may take to be one cluster again, in milliseconds: longer than to copy all data to one of them. */
export const JOIN_MS = 60_000;

/**
 * Waits until all nodes are in one cluster and have what it has. A node that was frozen believes for a while to be in the
 * cluster that has gone on without it; but that one has another view by then.
 */
export async function wholeCluster(nodes: readonly GaleraNode[]): Promise<void> {
  const views = async (): Promise<string[]> => [
    ...new Set(await Promise.all(nodes.map((node) => node.view().catch(String)))),
  ];
  await expect
    .poll(views, { timeout: JOIN_MS })
    .toEqual([expect.stringMatching(new RegExp(`^Primary, ${nodes.length} nodes, view .*, Synced$`))]);
}
