// Reads a tar archive entry by entry, within limits. The limits count every block, including headers that only
// describe other entries, contents that are not read, and data after the end. The `tar` library parses the headers.
import { Header, Pax } from "tar";
import { invalid, ServiceError } from "../../base/domain/service-error.ts";
import type { ArchiveBytes } from "./archive-bytes.ts";
import { malformed } from "./malformed.ts";

export interface EntryLimits {
  /**
   * Maximum bytes of all entries together. Entries that are not read count too, because skipping them takes as long as
   * writing them.
   */
  readonly bytesMax: number;
  /** Maximum entries of any kind; unlimited if absent. */
  readonly entriesMax?: number;
}

export interface TarEntry {
  /** Path as written in the archive; it may point anywhere. */
  readonly path: string;
  /** True for a plain file. */
  readonly isFile: boolean;
  readonly byteCount: number;
  /** Returns the content. The caller must read it before it requests the next entry, or not at all. */
  readonly content: () => AsyncIterable<Buffer>;
}

const blockBytes = 512;
/**
 * Maximum size of an entry that only describes other entries, such as their paths and times. No legitimate archive
 * exceeds it.
 */
const descriptionBytesMax = 1 << 16;
/** Maximum padding: archives are padded with zeros to a multiple of a few blocks. */
const paddingBytesMax = 1 << 20;

const fileTypes: readonly string[] = ["File", "OldFile", "ContiguousFile"];

/** Descriptions that earlier headers gave: `all` applies to all following entries, `next` only to the next entry. */
interface Descriptions {
  readonly all?: Pax;
  readonly next?: Pax;
}

/** Handlers for entries that describe other entries, by the type of the entry. */
const describe: Readonly<Record<string, (text: string, known: Descriptions) => Descriptions>> = {
  ExtendedHeader: (text, { all, next }) => ({ all, next: Pax.parse(text, next, false) }),
  OldExtendedHeader: (text, { all, next }) => ({ all, next: Pax.parse(text, next, false) }),
  GlobalExtendedHeader: (text, { all, next }) => ({ all: Pax.parse(text, all, true), next }),
  NextFileHasLongPath: withPath,
  OldGnuLongPath: withPath,
  // Ignores the target of a link, because links are never followed.
  NextFileHasLongLinkpath: (_, known) => known,
};

/**
 * Yields the entries in order, then reads the archive to its last byte.
 *
 * @throws ServiceError `invalid` if the data is not an archive, is truncated, or has too many entries; `too_large` as
 * soon as a header shows that a limit is exceeded; the errors of reading `bytes`
 */
export async function* tarEntries(bytes: ArchiveBytes, limits: EntryLimits): AsyncGenerator<TarEntry, void> {
  const count = countWithin(limits);
  let known: Descriptions = {};
  let entryCount = 0;
  for (let emptyCount = 0; emptyCount < 2;) {
    const block = await bytes.take(blockBytes);
    if (block === null) break;
    const header = headerOf(block, known);
    emptyCount = header.nullBlock ? emptyCount + 1 : 0;
    if (header.nullBlock) continue;
    const byteCount = sizeOf(header);
    count(byteCount);
    entryCount += 1;
    const end = bytes.position + Math.ceil(byteCount / blockBytes) * blockBytes;
    const describeNext = describe[header.type];
    if (describeNext !== undefined) known = describeNext(await descriptionOf(bytes, byteCount), known);
    else {
      known = { ...known, next: undefined };
      const isFile = fileTypes.includes(header.type);
      const content = (): AsyncIterable<Buffer> => bytes.pieces(byteCount);
      yield { path: header.path ?? "", isFile, byteCount, content };
    }
    await bytes.skip(end - bytes.position);
  }
  if (entryCount === 0) throw malformed("it holds nothing");
  await readToEnd(bytes);
}

/** Returns a function that counts one entry with its bytes, and throws if a limit is exceeded. */
function countWithin(limits: EntryLimits): (byteCount: number) => void {
  const { bytesMax, entriesMax = Infinity } = limits;
  let bytesLeft = bytesMax;
  let entriesLeft = entriesMax;
  return (byteCount) => {
    bytesLeft -= byteCount;
    entriesLeft -= 1;
    if (entriesLeft < 0) throw tooMany(entriesMax);
    if (bytesLeft < 0) throw tooLarge(limits);
  };
}

function headerOf(block: Buffer, { all, next }: Descriptions): Header {
  let header: Header;
  try {
    header = new Header(block, 0, next, all);
  } catch (cause) {
    throw malformed(cause instanceof Error ? cause.message : String(cause), cause);
  }
  if (header.nullBlock) return header;
  if (!header.cksumValid) throw malformed("the checksum of an entry is wrong");
  if (header.path === undefined || header.path === "") throw malformed("an entry has no path");
  return header;
}

function sizeOf({ size = 0 }: Header): number {
  // Checked, because extended headers may contain any number.
  if (Number.isSafeInteger(size) && size >= 0) return size;
  throw malformed(`an entry has ${size} bytes`);
}

async function descriptionOf(bytes: ArchiveBytes, byteCount: number): Promise<string> {
  if (byteCount > descriptionBytesMax)
    throw malformed(
      `a header that describes an entry has ${byteCount} bytes, of at most ${descriptionBytesMax}: leave out extended attributes`,
    );
  if (byteCount === 0) return "";
  const text = await bytes.take(byteCount);
  if (text === null) throw malformed("it is cut off");
  return text.toString();
}

function withPath(text: string, { all, next }: Descriptions): Descriptions {
  return { all, next: Object.assign(new Pax(next ?? {}), { path: text.split("\0", 1)[0] }) };
}

/** Reads the archive to its last byte, so that a checksum after the archive's end is verified too. */
async function readToEnd(bytes: ArchiveBytes): Promise<void> {
  const end = bytes.position + paddingBytesMax;
  while ((await bytes.next(blockBytes * 128)) !== null)
    if (bytes.position > end)
      throw malformed(`more than ${paddingBytesMax} bytes follow its end; send only one archive`);
}

function tooMany(entriesMax: number): ServiceError {
  const message = `The archive has more than ${entriesMax} entries, the maximum; leave out unneeded files.`;
  return invalid(message);
}

function tooLarge({ bytesMax }: EntryLimits): ServiceError {
  const message = `The entries of the archive have more than ${bytesMax} bytes together, the most that are taken; those count too that nothing reads.`;
  return new ServiceError({ code: "too_large", message });
}
