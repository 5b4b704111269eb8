import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import forge from 'node-forge';

const HOUR_MS = 3_600_000;

/** A certificate and its private key, both in PEM. */
export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** The content of a certificate. The defaults fit a server on loopback, for an hour. */
interface Content {
  /** DNS names. */
  readonly names?: readonly string[];
  readonly addresses?: readonly string[];
  /** The remaining validity, in milliseconds; negative for an expired certificate. */
  readonly validMs?: number;
  /** The length of its RSA key. */
  readonly keyBits?: number;
}

/** A certificate authority for tests. */
interface Authority {
  /** Its own certificate, in PEM. */
  readonly cert: string;
  /** Issues a certificate for both server and client authentication. */
  issue(content?: Content): Pair;
  /** Issues one whose key is on the curve P-256. */
  issueElliptic(): Pair;
}

/** The types of subject alternative names (RFC 5280, section 4.2.1.6). */
const DNS_NAME = 2;
const IP_ADDRESS = 7;
/** The place of the public key in the content of a certificate (section 4.1). */
const SUBJECT_PUBLIC_KEY_INFO = 6;

/** Creates a certificate authority with a new key. */
export function createAuthority(): Authority {
  const keys = newKeys();
  const name = [{ name: 'commonName', value: `Authority ${randomBytes(8).toString('hex')}` }];
  const own = certificateFor(keys, HOUR_MS);
  const issued = ({
    names = ['localhost'],
    addresses = ['127.0.0.1'],
    validMs = HOUR_MS,
    keyBits,
  }: Content = {}) => {
    const pair = newKeys(keyBits);
    const certificate = certificateFor(pair, validMs);
    certificate.setSubject([{ name: 'commonName', value: 'Route Registry' }]);
    certificate.setIssuer(name);
    certificate.setExtensions([
      { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          ...names.map((value) => ({ type: DNS_NAME, value })),
          ...addresses.map((ip) => ({ type: IP_ADDRESS, ip })),
        ],
      },
    ]);
    certificate.sign(keys.privateKey, forge.md.sha256.create());
    return { certificate, key: forge.pki.privateKeyToPem(pair.privateKey) };
  };
  own.setSubject(name);
  own.setIssuer(name);
  own.setExtensions([
    { name: 'basicConstraints', critical: true, cA: true },
    { name: 'keyUsage', critical: true, keyCertSign: true },
  ]);
  own.sign(keys.privateKey, forge.md.sha256.create());
  return {
    cert: forge.pki.certificateToPem(own),
    issue(content) {
      const { certificate, key } = issued(content);
      return { cert: forge.pki.certificateToPem(certificate), key };
    },
    issueElliptic: () => elliptic(issued().certificate, forge.pki.privateKeyToPem(keys.privateKey)),
  };
}

/** Replaces the key of a certificate by one on P-256, which forge does not know, and signs it anew. */
function elliptic(certificate: forge.pki.Certificate, authorityKey: string): Pair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const whole = forge.pki.certificateToAsn1(certificate);
  const [content, , signature] = whole.value as forge.asn1.Asn1[];
  if (content === undefined || signature === undefined)
    throw new Error('It is no certificate (RFC 5280, section 4.1).');
  const spki = publicKey.export({ type: 'spki', format: 'der' }).toString('binary');
  (content.value as forge.asn1.Asn1[])[SUBJECT_PUBLIC_KEY_INFO] = forge.asn1.fromDer(spki);
  const signed = sign('sha256', Buffer.from(forge.asn1.toDer(content).getBytes(), 'binary'), authorityKey);
  // A bit string begins with the number of unused bits in its last byte.
  signature.value = `\0${signed.toString('binary')}`;
  const der = Buffer.from(forge.asn1.toDer(whole).getBytes(), 'binary').toString('base64');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${der.replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

function certificateFor({ publicKey }: forge.pki.rsa.KeyPair, validMs: number): forge.pki.Certificate {
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = publicKey;
  // The prefix 01 keeps the serial number positive: its first bit is the sign.
  certificate.serialNumber = `01${randomBytes(15).toString('hex')}`;
  certificate.validity.notBefore = new Date(Date.now() - 24 * HOUR_MS);
  certificate.validity.notAfter = new Date(Date.now() + validMs);
  return certificate;
}

/** Node generates keys much faster than forge. */
function newKeys(modulusLength = 2_048): forge.pki.rsa.KeyPair {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const own = forge.pki.privateKeyFromPem(pem);
  return { privateKey: own, publicKey: forge.pki.setRsaPublicKey(own.n, own.e) };
}
