// Tests that the system's tar reads the archives, that the archives of the system's tar are read, and that others are
// refused.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { gzipSync } from "node:zlib";
import { ArchiveBytes } from "./archive-bytes.ts";
import {
  tarEnd,
  tarEntry,
  tarHeader,
  tarOfMany,
  zippedTarAndMore,
  zippedTarOfOne,
} from "./testing/hostile-archives.ts";
import { tarByteCount, tarOf, type ArchivedFile } from "./tar-stream.ts";
import { unpackInto, type UnpackLimits } from "./unpack.ts";

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "hone-archives-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

const file = (name: string, ...pieces: readonly string[]): ArchivedFile => ({
  name,
  byteCount: Buffer.byteLength(pieces.join("")),
  async *pieces() {
    for (const piece of pieces) yield Buffer.from(piece);
  },
});

async function bytesOf(files: readonly ArchivedFile[]): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of tarOf(files, new Date("2026-11-22T12:00:00Z"))) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

const files = [file("empty"), file("a.json", "{}"), file("long.bin", "x".repeat(512), "y".repeat(700))];

test("the system's tar unpacks what is packed, which has the announced size", async (t) => {
  const folder = folderFor(t);
  const archive = await bytesOf(files);
  assert.equal(archive.length, tarByteCount(files));
  execFileSync("tar", ["xf", "-", "-C", folder], { input: archive });
  const found = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]);
  assert.deepEqual(found, [
    ["a.json", "{}"],
    ["empty", ""],
    ["long.bin", "x".repeat(512) + "y".repeat(700)],
  ]);
  assert.deepEqual(await bytesOf(files), archive);
});

test("a file that ends early aborts the archive", async () => {
  await assert.rejects(bytesOf([{ ...file("a", "1"), byteCount: 2 }]), /as many bytes as were announced/);
});

test("unpacks only plain files from an archive of the system's tar, without their folders", async (t) => {
  const [from, to] = [folderFor(t), folderFor(t)];
  mkdirSync(join(from, "inner"));
  writeFileSync(join(from, "inner", "a.json"), "{}");
  writeFileSync(join(from, "big.bin"), "b".repeat(3 << 20));
  writeFileSync(join(from, "other.txt"), "not wanted");
  symlinkSync("/etc/passwd", join(from, "link"));
  for (const [flags, size] of [
    ["cf", 1000],
    ["czf", 1 << 20],
  ] as const) {
    const archive = execFileSync("tar", [flags, "-", "-C", from, "."], { maxBuffer: 1 << 24 });
    const target = join(to, flags);
    mkdirSync(target);
    const limits = { bytesMax: 1 << 22, takes: (name: string) => name !== "other.txt" };
    const { taken, left } = await unpackInto(target, inPieces(archive, size), limits);
    assert.deepEqual([taken.toSorted(), left], [["a.json", "big.bin"], ["other.txt"]]);
    assert.equal(readFileSync(join(target, "big.bin"), "utf8").length, 3 << 20);
  }
});

test("refuses data that is not an archive, is truncated, is too large, or holds a name twice", async (t) => {
  const archive = await bytesOf(files);
  const check = async (bytes: Uint8Array, code: string, bytesMax = 1 << 20): Promise<void> => {
    await assert.rejects(unpackInto(folderFor(t), inPieces(bytes, 600), { bytesMax }), { code });
  };
  await check(Buffer.from("not an archive at all".repeat(100)), "invalid");
  await check(archive.subarray(0, archive.length - 2000), "invalid");
  await check(archive, "too_large", 1000);
  await check(await bytesOf([file("a", "1"), file("a", "2")]), "invalid");
});

test("rethrows an error of reading the archive", async (t) => {
  const archive = async function* (): AsyncGenerator<Uint8Array> {
    yield new Uint8Array(0);
    throw new Error("the client went away");
  };
  await assert.rejects(unpackInto(folderFor(t), archive(), { bytesMax: 1 }), /the client went away/);
});

/** Wraps an archive so that the bytes which a reader requests are counted. */
function counted(pieces: Iterable<Uint8Array>) {
  const asked = { bytes: 0 };
  const archive = async function* (): AsyncGenerator<Uint8Array> {
    for (const piece of pieces) {
      asked.bytes += piece.length;
      yield piece;
    }
  };
  return { archive: archive(), asked };
}

/** Limits for importing an adapter. */
const limits: UnpackLimits = {
  bytesMax: 2 ** 31,
  entriesMax: 1000,
  takes: (name) => name === "a.json",
  fileBytesMax: () => mebibyte,
};

const mebibyte = 1 << 20;
const longName = "x".repeat(9000);

for (const [what, archive, bytesReadMax, message, more] of [
  ["a large file that is skipped", zippedTarOfOne("x", 3000), mebibyte, /entries .* more than 2147483648/],
  [
    "skipped files",
    tarOfMany(1000, mebibyte),
    6 * mebibyte,
    /more than 4194304 bytes/,
    { bytesMax: 4 * mebibyte },
  ],
  ["100,000 names", tarOfMany(100_000, 0), 2 * mebibyte, /more than 1000 entries/],
  ["100,000 folders", tarOfMany(100_000, 0, { type: "5" }), 2 * mebibyte, /more than 1000 entries/],
  ["empty descriptions", tarOfMany(100_000, 0, { type: "x" }), 2 * mebibyte, /more than 1000 entries/],
  ["long descriptions", tarOfMany(200, 900_000, { type: "x" }), 2 * mebibyte, /has 900000 bytes/],
  ["descriptions of all entries", tarOfMany(200, 900_000, { type: "g" }), 2 * mebibyte, /has 900000 bytes/],
  ["long paths", tarOfMany(200, 900_000, { type: "L" }), 2 * mebibyte, /has 900000 bytes/],
  [
    "a configuration of 200 MB",
    tarOfMany(1, 2e8, { name: "a.json" }),
    mebibyte,
    /a\.json has 200000000 bytes/,
  ],
  [
    "a configuration of 200 MB, zipped",
    zippedTarOfOne("a.json", 200),
    mebibyte,
    /a\.json has 209715200 bytes/,
  ],
  ["much data after the end", zippedTarAndMore(3000), 5 * mebibyte, /more than 1048576 bytes follow its end/],
  ["an archive zipped twice", [gzipSync(gzipSync(tarHeader("x", 0)))], mebibyte, /cut off|checksum/],
] as const) {
  test(`refuses ${what}, and reads no more than necessary`, async (t) => {
    const folder = folderFor(t);
    const { archive: sent, asked } = counted(archive);
    await assert.rejects(unpackInto(folder, sent, { ...limits, ...more }), message);
    assert.ok(asked.bytes <= bytesReadMax, `${asked.bytes} bytes were read`);
    assert.deepEqual(readdirSync(folder), []);
  });
}

test("unpacks an archive compressed a thousandfold in small pieces, within the limits", async (t) => {
  const byteCount = 64 * mebibyte;
  const zipped = gzipSync(Buffer.concat([tarHeader("a.json", byteCount), Buffer.alloc(byteCount), tarEnd]));
  assert.ok(zipped.length < byteCount / 1000);
  const bytes = new ArchiveBytes(counted([zipped]).archive);
  for (let piece = await bytes.next(Infinity); piece !== null; piece = await bytes.next(Infinity))
    assert.ok(piece.length <= 1 << 16, `${piece.length} bytes came in one piece`);
  assert.equal(bytes.position, byteCount + 512 + tarEnd.length);
  const folder = folderFor(t);
  await unpackInto(folder, counted([zipped]).archive, { bytesMax: byteCount });
  assert.equal(statSync(join(folder, "a.json")).size, byteCount);
});

/** Returns the open files of this process in a folder; none if the system does not list them. */
function openedIn(folder: string): readonly string[] {
  if (!existsSync("/proc/self/fd")) return [];
  return readdirSync("/proc/self/fd").flatMap((id) => {
    const path = `/proc/self/fd/${id}`;
    // The listing includes the descriptor that read the folder, which is closed by now.
    return existsSync(path) && readlinkSync(path).startsWith(folder) ? [readlinkSync(path)] : [];
  });
}

test("an archive that ends inside a file leaves no file open", async (t) => {
  const archive = await bytesOf([file("a.json", "x".repeat(9000))]);
  const breaksOff = async function* (zip: (part: Buffer) => Buffer): AsyncGenerator<Uint8Array> {
    yield zip(archive.subarray(0, 4000));
    throw new Error("the client went away");
  };
  for (const [sent, message] of [
    [inPieces(archive.subarray(0, 4000), 700), /cut off/],
    [inPieces(gzipSync(archive).subarray(0, -20), 30), /unexpected end of file/],
    [breaksOff((part) => part), /went away/],
    [breaksOff((part) => gzipSync(part)), /went away/],
  ] as const) {
    const folder = folderFor(t);
    await assert.rejects(unpackInto(folder, sent, limits), message);
    assert.deepEqual(openedIn(folder), []);
  }
});

test("shortens long names of skipped files", async (t) => {
  const archive = [tarEntry("long", `${longName}\0`, { type: "L" }), tarEntry("x", "no"), tarEnd];
  const { left } = await unpackInto(folderFor(t), counted(archive).archive, limits);
  assert.deepEqual(left, [`${longName.slice(0, 199)}…`]);
});

test("accepts a long path in both formats that the system's tar writes", async (t) => {
  const [from, to] = [folderFor(t), folderFor(t)];
  const inner = join(from, "é".repeat(60), "f".repeat(120));
  mkdirSync(inner, { recursive: true });
  writeFileSync(join(inner, "a.json"), "{}");
  for (const format of ["gnu", "posix"]) {
    const archive = execFileSync("tar", ["cf", "-", `--format=${format}`, "-C", from, "."]);
    mkdirSync(join(to, format));
    assert.deepEqual(await unpackInto(join(to, format), inPieces(archive, 700), limits), {
      taken: ["a.json"],
      left: [],
    });
  }
});

test("refuses an archive with a wrong checksum at its end", async (t) => {
  const zipped = gzipSync(await bytesOf(files));
  zipped[zipped.length - 8] ^= 1;
  const unpacking = unpackInto(folderFor(t), inPieces(zipped, 100), { bytesMax: mebibyte });
  await assert.rejects(unpacking, { code: "invalid", message: /incorrect data check/ });
});
