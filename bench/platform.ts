/** The major version of Node that the image has, on which all published figures are measured. */
export const PLATFORM = 24;

/** @throws Error on another major version of Node */
export function requirePlatform(version = process.versions.node): void {
  if (version.startsWith(`${PLATFORM}.`)) return;
  throw new Error(`Published figures are those of Node ${PLATFORM}; this is Node ${version}.`);
}
