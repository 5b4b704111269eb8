import { execFileSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';

/** The most files that a warm call may enter: whoever follows a call reads each of them. */
const MOST_FILES = {
  'create over gRPC': 21,
  'get over gRPC': 12,
  'create over REST': 37,
  'get over REST': 27,
};

describe('npm run call-path', () => {
  let counted: Map<string | undefined, number>;

  beforeAll(() => {
    const printed = execFileSync('npm', ['run', '--silent', 'call-path'], { encoding: 'utf8' });
    counted = new Map(
      [...printed.matchAll(/^(.+): (\d+) files$/gm)].map(([, call, files]) => [call, Number(files)]),
    );
  });

  it.each(Object.entries(MOST_FILES))('counts for a %s at most %i files', (call, most) => {
    expect(counted.get(call)).toBeGreaterThan(0);
    expect(counted.get(call)).toBeLessThanOrEqual(most);
  });
});
