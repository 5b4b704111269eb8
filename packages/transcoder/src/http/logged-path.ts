/** The maximum length of a path in a log line, in characters. */
const PATH_MAX = 128;
/** The longest segment shown in full, in characters: a segment longer than a UUID may be a misplaced token. */
const SEGMENT_MAX = 36;
/** How much of a longer segment is shown, in characters. */
const SEGMENT_SHOWN = 8;

/** A path for log lines, with long segments cut, since they may be tokens. */
export function loggedPath(path: string): string {
  const visible = path.replace(/[^\x21-\x7e]/g, escaped);
  // So short that there is nothing to cut.
  if (visible.length <= SEGMENT_MAX) return visible;
  const shown = visible.split('/').map(shorten).join('/');
  return shown.length > PATH_MAX ? `${shown.slice(0, PATH_MAX - 1)}…` : shown;
}

/** The escape for a byte. One character is one byte here, since Node reads a request target as Latin-1. */
function escaped(byte: string): string {
  return `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}

function shorten(segment: string): string {
  return segment.length > SEGMENT_MAX ? `${segment.slice(0, SEGMENT_SHOWN)}…` : segment;
}
