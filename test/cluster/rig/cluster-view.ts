import { expect } from 'vitest';
import type { GaleraNode } from './galera-node.js';

/** How long nodes may take to form one cluster again, in milliseconds: more than it takes to copy all data to one. */
export const JOIN_MS = 60_000;

/**
 * Waits until all nodes are synced members of one cluster and report the same view. A node that was frozen still reports
 * itself as a member for a while, but with an outdated view.
 */
export async function wholeCluster(nodes: readonly GaleraNode[]): Promise<void> {
  const views = async (): Promise<string[]> => [
    ...new Set(await Promise.all(nodes.map((node) => node.view().catch(String)))),
  ];
  await expect
    .poll(views, { timeout: JOIN_MS })
    .toEqual([expect.stringMatching(new RegExp(`^Primary, ${nodes.length} nodes, view .*, Synced$`))]);
}
