import type { Part } from './sign-jwt.js';

type Claims = Readonly<Record<string, unknown>>;

/** Claims that a good signature does not make good (RFC 7519, section 4.1). */
export function badClaims(claims: Claims, nowSeconds: number): { title: string; claims: Part }[] {
  const { iss, aud, sub, exp } = claims;
  const changes: Claims[] = [
    ...['iss', 'aud', 'sub', 'exp'].map((name) => ({ [name]: undefined })),
    ...[String(exp), `${String(exp)}.0`, null, true, [exp], { value: exp }, 'Infinity'].map((value) => ({
      exp: value,
    })),
    ...[0, -1, -0.1, nowSeconds - 6, 1e300, -1e300, 8.64e12 + 1, Number.MAX_SAFE_INTEGER].map((value) => ({
      exp: value,
    })),
    ...['0', null, [0], {}, true, nowSeconds + 60, 1e300, 8.64e12].map((value) => ({ nbf: value })),
    ...[
      '',
      'https://issuer.test/',
      'HTTPS://ISSUER.TEST',
      ' https://issuer.test',
      'https://issuer.test.x',
    ].map((value) => ({ iss: value })),
    ...[[iss], { iss }, 1, null].map((value) => ({ iss: value })),
    ...[
      '',
      [],
      [''],
      'other',
      ['other'],
      [[aud]],
      [aud, 1],
      { aud },
      null,
      1,
      `${String(aud)} `,
      `${String(aud)},other`,
    ].map((value) => ({ aud: value })),
    ...['', 1, null, [sub], {}, 'x'.repeat(256), 'a\u0000b', 'a\nb', '\ud800'].map((value) => ({
      sub: value,
    })),
    ...[1, ['routes:write'], {}, true].map((value) => ({ scope: value })),
    ...[1, [1], {}, true].map((value) => ({ scp: value })),
  ];
  const changed = changes.map((change) => ({
    title: JSON.stringify(change, (_, value: unknown) => value ?? null).slice(0, 60),
    claims: { ...claims, ...change },
  }));
  const text = JSON.stringify(claims);
  const withoutExp = JSON.stringify({ ...claims, exp: undefined });
  return [
    ...changed,
    { title: 'all claims in __proto__', claims: Buffer.from(`{"__proto__":${text}}`) },
    {
      title: 'exp in __proto__',
      claims: Buffer.from(`{"__proto__":{"exp":${String(exp)}},${withoutExp.slice(1)}`),
    },
    { title: 'exp twice, the last one over', claims: Buffer.from(`${text.slice(0, -1)},"exp":1}`) },
    { title: 'exp beyond every double', claims: Buffer.from(`${withoutExp.slice(0, -1)},"exp":1e999}`) },
    { title: 'a list of claims', claims: Buffer.from(`[${text}]`) },
    { title: 'claims in a string', claims: Buffer.from(JSON.stringify(text)) },
    { title: 'claims after a byte order mark', claims: Buffer.from(`\ufeff${text}`) },
    { title: 'claims in UTF-16', claims: Buffer.from(text, 'utf16le') },
    { title: 'claims with a comment', claims: Buffer.from(`/**/${text}`) },
    { title: 'claims and more', claims: Buffer.from(`${text}{}`) },
    {
      title: 'claims with a byte that is never UTF-8',
      claims: Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.from(',"x":"\xff"}', 'latin1')]),
    },
    { title: 'no claims', claims: Buffer.alloc(0) },
    { title: 'null', claims: Buffer.from('null') },
  ];
}
