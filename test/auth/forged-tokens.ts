import { createSecretKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { compact, type Header, type Part, signJwt } from './sign-jwt.js';

/** A key that the service trusts, and what an attacker may know about it. */
export interface TrustedSigner {
  readonly alg: Header['alg'];
  readonly key: KeyObject;
  /** Members of every valid header, such as `kid`. */
  readonly header: Readonly<Record<string, unknown>>;
  /** The public half; absent for a secret. */
  readonly publicKey?: KeyObject;
}

/** A token that must be refused, after its title. */
type HostileToken = readonly [title: string, token: string];

type Claims = Readonly<Record<string, unknown>>;

const ATTACKER_RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ATTACKER_EC = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ATTACKER_SECRET = createSecretKey(Buffer.alloc(64, 'a'));
const EVERY_ALG: readonly Header['alg'][] = [
  ...(['HS256', 'HS384', 'HS512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512'] as const),
];

/** A token signed by the issuer, with these claims. */
export function signedBy(signer: TrustedSigner, claims: Part): string {
  return signJwt(signer.key, { ...signer.header, alg: signer.alg }, claims);
}

/** Tokens with valid claims whose algorithm, signature or header is wrong. */
export function forgedTokens(signer: TrustedSigner, claims: Claims): HostileToken[] {
  return [
    ...unsigned(signer, claims),
    ...confused(signer, claims),
    ...cut(signedBy(signer, claims)),
    ...malleable(signer, claims),
    ...withEmbeddedKeys(signer, claims),
  ];
}

function unsigned(signer: TrustedSigner, claims: Claims): HostileToken[] {
  const [, , signature = ''] = signedBy(signer, claims).split('.');
  const unknown = [
    'none',
    'None',
    'NONE',
    'none ',
    ' none',
    'n\u043ene',
    'EdDSA',
    '',
    null,
    0,
    true,
    ['none'],
    {},
  ];
  return unknown.flatMap((alg) => {
    const input = compact({ ...signer.header, alg }, claims);
    return [
      [`alg ${JSON.stringify(alg)}, no signature`, input],
      [`alg ${JSON.stringify(alg)}, the issuer's signature`, input + signature],
    ];
  });
}

function confused(signer: TrustedSigner, claims: Claims): HostileToken[] {
  const sign = (key: KeyObject, alg: Header['alg']) => signJwt(key, { ...signer.header, alg }, claims);
  const [, payload = '', signature = ''] = signedBy(signer, claims).split('.');
  const others = EVERY_ALG.filter((alg) => alg !== signer.alg);
  const relabelled = others.map((alg): HostileToken => {
    const [header = ''] = compact({ ...signer.header, alg }, claims).split('.');
    return [`the issuer's signature under alg ${alg}`, [header, payload, signature].join('.')];
  });
  const foreign: HostileToken[] = [
    ["RS256 with the attacker's key", sign(ATTACKER_RSA.privateKey, 'RS256')],
    ["PS256 with the attacker's key", sign(ATTACKER_RSA.privateKey, 'PS256')],
    ["ES256 with the attacker's key", sign(ATTACKER_EC.privateKey, 'ES256')],
    ...(['HS256', 'HS384', 'HS512'] as const).map((alg): HostileToken => [
      `${alg} with the attacker's secret`,
      sign(ATTACKER_SECRET, alg),
    ]),
    ['HS256 with an empty secret', sign(createSecretKey(Buffer.alloc(0)), 'HS256')],
    ['HS256 with the kid as the secret', sign(createSecretKey(Buffer.from('main')), 'HS256')],
  ];
  const asSecrets = secretsOf(signer.publicKey).flatMap(([title, bytes]) =>
    (['HS256', 'HS384', 'HS512'] as const).map((alg): HostileToken => [
      `${alg} with the public key as the secret: ${title}`,
      sign(createSecretKey(bytes), alg),
    ]),
  );
  return [...relabelled, ...foreign, ...asSecrets];
}

/** The encodings of a public key that a careless verifier might use as an HMAC secret. */
function secretsOf(key: KeyObject | undefined): [string, Buffer][] {
  if (key === undefined) return [];
  const pem = key.export({ type: 'spki', format: 'pem' }).toString();
  const jwk = key.export({ format: 'jwk' });
  return [
    ['PEM', Buffer.from(pem)],
    ['PEM without the final newline', Buffer.from(pem.trimEnd())],
    ['PEM with CRLF', Buffer.from(pem.replaceAll('\n', '\r\n'))],
    ['DER', key.export({ type: 'spki', format: 'der' })],
    ['JWK', Buffer.from(JSON.stringify(jwk))],
    ['the modulus or x coordinate', Buffer.from(jwk.n ?? jwk.x ?? '', 'base64url')],
  ];
}

function cut(good: string): HostileToken[] {
  const [header = '', payload = '', signature = ''] = good.split('.');
  const bytes = Buffer.from(signature, 'base64url');
  const withSignature = (changed: Buffer) => `${header}.${payload}.${changed.toString('base64url')}`;
  const flipped = Buffer.from(bytes);
  flipped.writeUInt8(flipped.readUInt8(0) ^ 1, 0);
  return [
    ['no signature', `${header}.${payload}.`],
    ['one bit of the signature flipped', withSignature(flipped)],
    ['the signature without its last byte', withSignature(bytes.subarray(0, -1))],
    ['the signature without its first byte', withSignature(bytes.subarray(1))],
    ['the signature with an extra byte at its end', withSignature(Buffer.concat([bytes, Buffer.alloc(1)]))],
    ['the signature after a zero byte', withSignature(Buffer.concat([Buffer.alloc(1), bytes]))],
    ['a signature of zero bytes', withSignature(Buffer.alloc(bytes.length))],
    ['a signature of 0xff bytes', withSignature(Buffer.alloc(bytes.length, 0xff))],
    ['unused bits set in the last character', looseBits(good)],
  ];
}

/** The token with an unused bit of its last character set, or with one more character if no bit is unused. */
function looseBits(good: string): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const next = letters.charAt(letters.indexOf(good.slice(-1)) + 1);
  const candidates = [good.slice(0, -1) + next, `${good}A`];
  const same = candidates.find((candidate) => signatureHex(candidate) === signatureHex(good));
  return same ?? `${good}A`;
}

function signatureHex(token: string): string {
  return Buffer.from(token.split('.')[2] ?? '', 'base64url').toString('hex');
}

/** Variants of a valid signature that a lenient verifier might accept. */
function malleable(signer: TrustedSigner, claims: Claims): HostileToken[] {
  const [header = '', payload = '', signature = ''] = signedBy(signer, claims).split('.');
  const bytes = Buffer.from(signature, 'base64url');
  const token = (changed: Buffer) => `${header}.${payload}.${changed.toString('base64url')}`;
  if (!signer.alg.startsWith('ES')) {
    return [['the signature in hexadecimal', token(Buffer.from(bytes.toString('hex')))]];
  }
  const half = bytes.length / 2;
  const [r, s] = [bytes.subarray(0, half), bytes.subarray(half)];
  const zero = Buffer.alloc(half);
  const order = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex');
  return [
    ['the signature in DER', token(derOf(r, s))],
    ['r is zero', token(Buffer.concat([zero, s]))],
    ['s is zero', token(Buffer.concat([r, zero]))],
    ['r and s are the order of the curve', token(Buffer.concat([order, order]))],
    ['r and s swapped', token(Buffer.concat([s, r]))],
    [
      'a zero byte before r and before s',
      token(Buffer.concat([zero.subarray(0, 1), r, zero.subarray(0, 1), s])),
    ],
  ];
}

/** An ECDSA-Sig-Value (RFC 3279, section 2.2.3) with a zero byte before every number. */
function derOf(...numbers: Buffer[]): Buffer {
  const parts = numbers.map((number) => {
    const positive = Buffer.concat([Buffer.alloc(1), number]);
    return Buffer.concat([Buffer.from([0x02, positive.length]), positive]);
  });
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([0x30, content.length]), content]);
}

/** The attacker's tokens, whose headers hold a key or point to one (RFC 7515, sections 4.1.2 to 4.1.8). */
function withEmbeddedKeys(signer: TrustedSigner, claims: Claims): HostileToken[] {
  const jwk = ATTACKER_RSA.publicKey.export({ format: 'jwk' });
  const der = ATTACKER_RSA.publicKey.export({ type: 'spki', format: 'der' });
  const secretJwk = { kty: 'oct', k: ATTACKER_SECRET.export().toString('base64url') };
  const by = (header: Claims) =>
    signJwt(ATTACKER_RSA.privateKey, { ...signer.header, ...header, alg: 'RS256' }, claims);
  return [
    ["the attacker's key in jwk", by({ jwk })],
    ["the attacker's key in jwk, with its own kid", by({ jwk: { ...jwk, kid: 'own' }, kid: 'own' })],
    ['jku', by({ jku: 'http://127.0.0.1:9/jwks.json' })],
    ['x5u', by({ x5u: 'http://127.0.0.1:9/chain.pem' })],
    ['x5c', by({ x5c: [der.toString('base64')] })],
    ['x5t', by({ x5t: 'AAAA', 'x5t#S256': 'AAAA' })],
    ['a secret in jwk', signJwt(ATTACKER_SECRET, { ...signer.header, jwk: secretJwk, alg: 'HS256' }, claims)],
  ];
}
