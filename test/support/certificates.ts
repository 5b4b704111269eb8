import { generateKeyPairSync, randomBytes } from 'node:crypto';
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
}

/** The types of subject alternative names (RFC 5280, section 4.2.1.6). */
const DNS_NAME = 2;
const IP_ADDRESS = 7;

/** Creates a certificate authority with a new key. */
export function createAuthority(): Authority {
  const keys = newKeys();
  const name = [{ name: 'commonName', value: `Authority ${randomBytes(8).toString('hex')}` }];
  const own = certificateFor(keys, HOUR_MS);
  own.setSubject(name);
  own.setIssuer(name);
  own.setExtensions([
    { name: 'basicConstraints', critical: true, cA: true },
    { name: 'keyUsage', critical: true, keyCertSign: true },
  ]);
  own.sign(keys.privateKey, forge.md.sha256.create());
  return {
    cert: forge.pki.certificateToPem(own),
    issue({ names = ['localhost'], addresses = ['127.0.0.1'], validMs = HOUR_MS, keyBits } = {}) {
      const pair = newKeys(keyBits);
      const issued = certificateFor(pair, validMs);
      issued.setSubject([{ name: 'commonName', value: 'Route Registry' }]);
      issued.setIssuer(name);
      issued.setExtensions([
        { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
        {
          name: 'subjectAltName',
          altNames: [
            ...names.map((value) => ({ type: DNS_NAME, value })),
            ...addresses.map((ip) => ({ type: IP_ADDRESS, ip })),
          ],
        },
      ]);
      issued.sign(keys.privateKey, forge.md.sha256.create());
      return { cert: forge.pki.certificateToPem(issued), key: forge.pki.privateKeyToPem(pair.privateKey) };
    },
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
