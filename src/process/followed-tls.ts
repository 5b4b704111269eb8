import { constants, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { Closing } from './closing.js';
import { FollowedFiles } from './followed-files.js';
import { opening } from './opening.js';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** The files of one party of TLS, each in PEM. */
export interface TlsFiles {
  /** Its certificate with the chain, and the certificate's key: both or neither. */
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  /** The authorities that sign the other party's certificate. */
  readonly caFile: string | undefined;
}

/** The contents of the files, proved to be usable together: TLS 1.2 or later, no renegotiation. */
export interface TlsMaterial {
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
  readonly ca: Buffer | undefined;
  readonly minVersion: 'TLSv1.2';
  readonly secureOptions: number;
}

/** The part of a logger that is used here. */
export interface TlsLog {
  info(entry: object, message: string): void;
  warn(entry: object, message: string): void;
}

/**
 * The files of one party of TLS, read again when they change. What cannot be used together is reported once, and the
 * material before it stays. A certificate that has expired is used, with a warning: to refuse it would end the service
 * for those who can still reach it.
 */
export class FollowedTls {
  readonly #files: TlsFiles;
  readonly #log: TlsLog;
  readonly #followed: FollowedFiles<TlsMaterial>;
  readonly #listeners: (() => void)[] = [];

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
      onChange: () => {
        log.info({ files: this.#files, ...this.#facts() }, 'TLS files renewed');
        this.#warnOfExpiry();
        for (const listener of this.#listeners) listener();
      },
      onProblem: ({ message }) => {
        log.warn({ problem: message }, 'the new TLS files cannot be used: those before stay');
      },
      intervalMs,
    });
    this.#warnOfExpiry();
  }

  get latest(): TlsMaterial {
    return this.#followed.value;
  }

  /** Calls the listener whenever `latest` has changed. */
  onRenewed(listener: () => void): void {
    this.#listeners.push(listener);
  }

  close(): void {
    this.#followed.close();
  }

  #facts(): { validTo: string } | undefined {
    const { cert } = this.latest;
    return cert && { validTo: new X509Certificate(cert).validTo };
  }

  #warnOfExpiry(): void {
    const facts = this.#facts();
    if (facts === undefined || Date.parse(facts.validTo) > Date.now()) return;
    this.#log.warn({ file: this.#files.certFile, ...facts }, 'the TLS certificate has expired');
  }
}

/**
 * Follows the files until the service closes.
 *
 * @param settings the settings that name them
 * @throws Error that names the settings and the file, when a file cannot be read or used
 */
export async function followTls(
  settings: string,
  files: TlsFiles,
  { closing, logger, rereadMs }: { closing: Closing; logger: TlsLog; rereadMs?: number | undefined },
): Promise<FollowedTls> {
  const tls = await opening(`The files of ${settings} cannot be used`, () =>
    Promise.resolve(files).then((each) => new FollowedTls(each, logger, rereadMs)),
  );
  closing.resource('TLS files', () => {
    tls.close();
  });
  return tls;
}

function materialOf({ certFile, keyFile, caFile }: TlsFiles, contents: readonly Buffer[]): TlsMaterial {
  const rest = [...contents];
  const take = (file: string | undefined): Buffer | undefined => (file === undefined ? file : rest.shift());
  const [cert, key, ca] = [take(certFile), take(keyFile), take(caFile)];
  if (cert !== undefined && key !== undefined) checkPair(String(certFile), cert, String(keyFile), key);
  if (ca !== undefined) certificatesOf(String(caFile), ca);
  const secureOptions = constants.SSL_OP_NO_RENEGOTIATION;
  const material = { cert, key, ca, minVersion: 'TLSv1.2', secureOptions } as const;
  // Refuses what the checks above let pass, such as a key that is too short, before a server would.
  createSecureContext(material);
  return material;
}

function checkPair(certFile: string, cert: Buffer, keyFile: string, key: Buffer): void {
  const [own] = certificatesOf(certFile, cert);
  if (own?.checkPrivateKey(privateKeyOf(keyFile, key)) !== true)
    throw new Error(`${keyFile} is not the key of the first certificate in ${certFile}.`);
}

/** @throws Error unless there is at least one, and each can be read */
function certificatesOf(file: string, pem: Buffer): X509Certificate[] {
  const certificates = pem.toString('latin1').match(CERTIFICATE) ?? [];
  try {
    if (certificates.length > 0) return certificates.map((each) => new X509Certificate(each));
  } catch {
    // Said below, without the words of OpenSSL.
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
