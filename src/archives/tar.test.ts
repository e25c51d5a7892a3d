// Archives as the system's tar reads and writes them, and what is refused of one.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { tarByteCount, tarOf, type ArchivedFile } from "./tar-stream.ts";
import { unpackInto } from "./unpack.ts";

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

test("the system's tar unpacks what is packed, which has as many bytes as were announced", async (t) => {
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

test("a file that ends early breaks the archive off", async () => {
  await assert.rejects(bytesOf([{ ...file("a", "1"), byteCount: 2 }]), /as many bytes as were announced/);
});

test("unpacks what the system's tar packs, plain files alone and without their folders", async (t) => {
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

test("refuses what is no archive, is cut off, is too large, or holds a name twice", async (t) => {
  const archive = await bytesOf(files);
  const check = async (bytes: Uint8Array, code: string, bytesMax = 1 << 20): Promise<void> => {
    await assert.rejects(unpackInto(folderFor(t), inPieces(bytes, 600), { bytesMax }), { code });
  };
  await check(Buffer.from("not an archive at all".repeat(100)), "invalid");
  await check(archive.subarray(0, archive.length - 2000), "invalid");
  await check(archive, "too_large", 1000);
  await check(await bytesOf([file("a", "1"), file("a", "2")]), "invalid");
});

test("what reading the archive throws is thrown", async (t) => {
  const archive = async function* (): AsyncGenerator<Uint8Array> {
    yield new Uint8Array(0);
    throw new Error("the client went away");
  };
  await assert.rejects(unpackInto(folderFor(t), archive(), { bytesMax: 1 }), /the client went away/);
});

/** A header of an entry without its content, as POSIX has it. */
function header(name: string, byteCount: number, type: string): Buffer {
  const block = Buffer.alloc(512);
  block.write(name, 0);
  block.write("0000644\0", 100);
  block.write(`${byteCount.toString(8).padStart(11, "0")}\0`, 124);
  block.write("        ", 148);
  block.write(type, 156);
  block.write("ustar\u000000", 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

/** So many entries of so many bytes, one after the other; says how many were asked for. */
function entries(count: number, byteCount: number, { name = "x", type = "0" } = {}) {
  const made = { count: 0 };
  const content = Buffer.alloc(Math.ceil(byteCount / 512) * 512, 0x20);
  const archive = async function* (): AsyncGenerator<Uint8Array> {
    for (; made.count < count; made.count++) {
      yield header(name, byteCount, type);
      yield content;
    }
  };
  return { archive: archive(), made };
}

const wanted = (name: string): boolean => name === "a.json";

test("what is not taken counts too, and is read no further than the limits let it", async (t) => {
  for (const [what, code, limits] of [
    [entries(1000, 1 << 20), "too_large", { bytesMax: 4 << 20 }],
    [entries(100_000, 0), "invalid", { bytesMax: 1 << 20, entriesMax: 100 }],
    [entries(200, 900_000, { type: "x" }), "too_large", { bytesMax: 4 << 20 }],
    [entries(100_000, 40, { type: "x" }), "invalid", { bytesMax: 1 << 30, entriesMax: 100 }],
    [entries(100_000, 0, { type: "5" }), "invalid", { bytesMax: 1 << 20, entriesMax: 100 }],
  ] as const) {
    const folder = folderFor(t);
    await assert.rejects(unpackInto(folder, what.archive, { ...limits, takes: wanted }), { code });
    assert.ok(what.made.count < 250, `${what.made.count} entries were read`);
    assert.deepEqual(readdirSync(folder), []);
  }
});

test("a file that is larger than it may be is refused before it is written", async (t) => {
  const folder = folderFor(t);
  const { archive } = entries(1, 200 << 20, { name: "a.json" });
  const limits = { bytesMax: 1 << 30, fileBytesMax: () => 1 << 20 };
  await assert.rejects(unpackInto(folder, archive, limits), /a\.json has 209715200 bytes; at most 1048576/);
  assert.deepEqual(readdirSync(folder), []);
});
