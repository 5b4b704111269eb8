import { X509Certificate } from 'node:crypto';
import { onTestFinished, describe, expect, it } from 'vitest';
import { FollowedTls } from '../../src/files/followed-tls.js';
import { createAuthority } from '../support/certificates.js';
import { MountedFiles } from '../support/mounted-files.js';

const authority = createAuthority();
const first = authority.issue();
const second = authority.issue();
const expired = authority.issue({ validMs: -1_000 });

type Line = readonly [level: string, message: string, entry: object];

function follow(contents: Readonly<Record<string, string>>): {
  files: MountedFiles;
  followed: FollowedTls;
  lines: Line[];
} {
  const files = new MountedFiles(contents);
  const lines: Line[] = [];
  const path = (name: string): string | undefined => (name in contents ? files.path(name) : undefined);
  const followed = new FollowedTls(
    { certFile: path('cert'), keyFile: path('key'), caFile: path('ca') },
    {
      info: (entry, message) => lines.push(['info', message, entry]),
      warn: (entry, message) => lines.push(['warn', message, entry]),
    },
    10,
  );
  onTestFinished(() => {
    followed.close();
  });
  return { files, followed, lines };
}

describe('the TLS files', () => {
  it('are a pair, authorities, or both', () => {
    const { cert, key } = follow({ ...first, ca: authority.cert }).followed.latest;
    expect([String(cert), String(key)]).toEqual([first.cert, first.key]);
    expect(String(follow({ ca: authority.cert }).followed.latest.ca)).toBe(authority.cert);
    expect(follow({}).followed.latest.ca).toBeUndefined();
  });

  it('are renewed together, with a log line that says how long they are valid', async () => {
    const { files, followed, lines } = follow({ ...first });
    let renewals = 0;
    followed.onRenewed(() => (renewals += 1));
    files.swap({ ...second });
    await expect.poll(() => String(followed.latest.cert)).toBe(second.cert);
    expect(renewals).toBe(1);
    const { validTo } = new X509Certificate(second.cert);
    expect(lines).toEqual([['info', 'TLS files renewed', expect.objectContaining({ validTo })]]);
  });

  it('say when the latest certificate begins and ends to be valid', async () => {
    const { files, followed } = follow({ ...first });
    const validityOf = ({ cert }: { readonly cert: string }): object => {
      const { validFrom, validTo } = new X509Certificate(cert);
      return { validFrom, validTo };
    };
    expect(followed.validity).toEqual(validityOf(first));
    files.swap({ ...expired });
    await expect.poll(() => followed.validity).toEqual(validityOf(expired));
    expect(follow({ ca: authority.cert }).followed.validity).toBeUndefined();
  });

  it('stay in use while the new certificate and key do not match', async () => {
    const { files, followed, lines } = follow({ ...first });
    files.swap({ cert: second.cert, key: first.key });
    await expect.poll(() => lines.length).toBe(1);
    expect(String(followed.latest.cert)).toBe(first.cert);
    const problem = `${files.path('key')} is not the key of the first certificate in ${files.path('cert')}.`;
    const message = 'the new TLS files cannot be used: the previous ones stay in use';
    expect(lines).toEqual([['warn', message, { problem }]]);
  });

  it('may hold a certificate that has expired, with a warning at the start and at a renewal', async () => {
    const { lines } = follow({ ...expired });
    expect(lines.map(([, message]) => message)).toEqual(['the TLS certificate has expired']);
    const later = follow({ ...first });
    later.files.swap({ ...expired });
    await expect
      .poll(() => later.lines.map(([, message]) => message))
      .toEqual(['TLS files renewed', 'the TLS certificate has expired']);
  });

  it.each<[string, Readonly<Record<string, string>>, RegExp]>([
    [
      'a key of another certificate',
      { cert: first.cert, key: second.key },
      /key is not the key of .*cert\.$/,
    ],
    [
      'a certificate that is not PEM',
      { cert: 'cert', key: first.key },
      /cert must hold certificates in PEM\.$/,
    ],
    [
      'a damaged certificate',
      { cert: first.cert.replace(/[\w+/]{64}\r\n/, ''), key: first.key },
      /cert must hold certificates in PEM\.$/,
    ],
    [
      'a key that is not PEM',
      { cert: first.cert, key: 'key' },
      /key must hold a private key in PEM, without a passphrase\.$/,
    ],
    ['a key that is too short', { ...authority.issue({ keyBits: 512 }) }, /too small/],
    ['authorities that are not PEM', { ...first, ca: '' }, /ca must hold certificates in PEM\.$/],
  ])('are refused at the start: %s', (_, contents, message) => {
    expect(() => follow(contents)).toThrow(message);
  });
});
