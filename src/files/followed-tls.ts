import { constants, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { TlsFiles } from '../settings/config.js';
import { FollowedFiles } from './followed-files.js';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * What a connection may be encrypted with, in the words of OpenSSL: all of TLS 1.3, and of TLS 1.2 what has forward
 * secrecy and authenticated encryption. HTTP/2 forbids most others (RFC 9113, section 9.2.2).
 */
const CIPHERS = [
  ...['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'],
  ...['ECDHE+AESGCM', 'ECDHE+CHACHA20'],
].join(':');

/** The contents of the files, checked to be usable together, for TLS 1.2 or later without renegotiation. */
export interface TlsMaterial {
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
  readonly ca: Buffer | undefined;
  readonly minVersion: 'TLSv1.2';
  readonly ciphers: string;
  readonly secureOptions: number;
}

/** The part of a logger that is used here. */
export interface TlsLog {
  info(entry: object, message: string): void;
  warn(entry: object, message: string): void;
}

/**
 * The TLS files of a server or a client, read again when they change. Files that cannot be used together are reported
 * once, and the previous ones stay in use. An expired certificate is used, with a warning: refusing it would cut off
 * clients that still accept it.
 */
export class FollowedTls {
  readonly #files: TlsFiles;
  readonly #log: TlsLog;
  readonly #followed: FollowedFiles<TlsMaterial>;

  /**
   * @param intervalMs how often the files are read again, in milliseconds; default: 10,000
   * @throws Error with a sentence that names the file, when a file cannot be read or used
   */
  constructor(files: TlsFiles, log: TlsLog, intervalMs?: number) {
    this.#files = files;
    this.#log = log;
    this.#followed = new FollowedFiles({
      files: [files.certFile, files.keyFile, files.caFile].filter((file) => file !== undefined),
      read: (contents) => materialOf(files, contents),
      onProblem: ({ message }) => {
        log.warn({ problem: message }, 'the new TLS files cannot be used: the previous ones stay in use');
      },
      intervalMs,
    });
    this.#warnOfExpiry();
    this.#followed.onChange(() => {
      log.info({ files, ...this.validity }, 'TLS files renewed');
      this.#warnOfExpiry();
    });
  }

  get latest(): TlsMaterial {
    return this.#followed.value;
  }

  /** Calls the listener whenever `latest` has changed. */
  onRenewed(listener: () => void): void {
    this.#followed.onChange(listener);
  }

  close(): void {
    this.#followed.close();
  }

  /** When the latest certificate begins and ends to be valid, as in `X509Certificate`; undefined if there is none. */
  get validity(): Pick<X509Certificate, 'validFrom' | 'validTo'> | undefined {
    const { cert } = this.latest;
    if (cert === undefined) return undefined;
    const { validFrom, validTo } = new X509Certificate(cert);
    return { validFrom, validTo };
  }

  #warnOfExpiry(): void {
    const { validity } = this;
    if (validity === undefined || Date.parse(validity.validTo) > Date.now()) return;
    this.#log.warn({ file: this.#files.certFile, ...validity }, 'the TLS certificate has expired');
  }
}

function materialOf({ certFile, keyFile, caFile }: TlsFiles, contents: readonly Buffer[]): TlsMaterial {
  const rest = [...contents];
  const take = (file: string | undefined): Buffer | undefined => (file === undefined ? file : rest.shift());
  const [cert, key, ca] = [take(certFile), take(keyFile), take(caFile)];
  if (cert !== undefined && key !== undefined) checkPair(String(certFile), cert, String(keyFile), key);
  if (ca !== undefined) certificatesOf(String(caFile), ca);
  const secureOptions = constants.SSL_OP_NO_RENEGOTIATION;
  const material = { cert, key, ca, minVersion: 'TLSv1.2', ciphers: CIPHERS, secureOptions } as const;
  // Refuses what passes the checks above but a server would reject later, such as a key that is too short.
  createSecureContext(material);
  return material;
}

function checkPair(certFile: string, cert: Buffer, keyFile: string, key: Buffer): void {
  const [own] = certificatesOf(certFile, cert);
  if (own?.checkPrivateKey(privateKeyOf(keyFile, key)) !== true)
    throw new Error(`${keyFile} is not the key of the first certificate in ${certFile}.`);
}

/** @throws Error unless there is at least one certificate and all can be read */
function certificatesOf(file: string, pem: Buffer): X509Certificate[] {
  const certificates = pem.toString('latin1').match(CERTIFICATE) ?? [];
  try {
    if (certificates.length > 0) return certificates.map((text) => new X509Certificate(text));
  } catch {
    // Reported below, without OpenSSL's message.
  }
  throw new Error(`${file} must hold certificates in PEM.`);
}

function privateKeyOf(file: string, pem: Buffer): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new Error(`${file} must hold a private key in PEM, without a passphrase.`);
  }
}
