// While a simulation runs, redirects two things to it: `node:fs` for paths below `/simulated/`, and the random bytes of
// `node:crypto`. The simulated code is thus exactly the released one. A call that the simulation does not support
// throws an error if its path is below `/simulated/`; it never reaches the real disk.
import crypto from "node:crypto";
import fs from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import type { Random } from "../../../src/base/domain/random.ts";
import { type SimulatedDisk, diskError } from "./disk.ts";
import { DiskCalls, type DiskOfProcess, statOf } from "./disk-calls.ts";

type Call = (...given: unknown[]) => unknown;
/** The functions of a module that are replaced, by name. */
type Calls = Record<string, Call>;

interface Place {
  readonly calls: DiskCalls;
  readonly disk: SimulatedDisk;
}

/** Disks of the running simulation, by process number. */
const places = new Map<string, Place>();
let bytesOfWorld: Random | null = null;
let isInstalled = false;

/** Returns the root path of a simulated process's disk. */
export function rootOf(processNumber: number): string {
  return `/simulated/${processNumber}`;
}

/** Makes a process's disk available below the path that {@link rootOf} returns for its number. */
export function mountDisk(place: DiskOfProcess): void {
  places.set(String(place.process.number), { calls: new DiskCalls(place), disk: place.disk });
}

/** Starts a simulated world, whose random bytes come from `random`. */
export function beginWorld(random: Random): void {
  install();
  places.clear();
  bytesOfWorld = random;
}

export function endWorld(): void {
  places.clear();
  bytesOfWorld = null;
}

function install(): void {
  if (isInstalled) return;
  isInstalled = true;
  // Safe casts: the functions are looked up only by name.
  replaceAll(promises as unknown as Calls, asyncCalls);
  replaceAll(fs as unknown as Calls, syncCalls);
  replaceDescriptorCalls(fs as unknown as Calls);
  const ofCrypto = crypto as unknown as Calls;
  const { randomBytes, randomUUID } = ofCrypto;
  ofCrypto["randomBytes"] = (...given) =>
    bytesOfWorld === null ? randomBytes(...given) : randomOf(bytesOfWorld, Number(given[0]));
  ofCrypto["randomUUID"] = (...given) =>
    bytesOfWorld === null ? randomUUID(...given) : uuidOf(bytesOfWorld);
  syncBuiltinESMExports();
}

/** @param root the beginning of the original path, before `path` */
type Simulated = (place: Place, path: string, rest: readonly unknown[], root: string) => unknown;

/** Redirects calls whose first argument is a path of the simulation. */
function replaceAll(module: Calls, simulated: Readonly<Record<string, Simulated>>): void {
  for (const [name, real] of Object.entries(module)) {
    if (typeof real !== "function" || /^[A-Z]/.test(name)) continue;
    const own = simulated[name];
    const call: Call = (...given) => {
      const [first, ...rest] = given;
      const found = typeof first === "string" ? placeOf(first) : null;
      if (found === null) return real(...given);
      if (own === undefined) throw new Error(`${name} is asked of a simulated disk, and not simulated.`);
      return own(found.place, found.path, rest, found.root);
    };
    // Keeps properties of functions, such as `realpath.native`.
    module[name] = Object.assign(call, real);
  }
}

function placeOf(given: string) {
  const [, root = "", number = "", rest = ""] = /^([/\\]simulated[/\\](\d+))(.*)$/s.exec(given) ?? [];
  if (number === "") return null;
  const place = places.get(number);
  if (place === undefined) throw diskError("EIO", given);
  return { place, root, path: rest.replaceAll("\\", "/") };
}

/**
 * Returns the second path of a call that has two, such as `rename`, relative to its disk. Both paths are on the same
 * disk.
 */
function otherPath(value: unknown): string {
  return placeOf(String(value))?.path ?? String(value);
}

const asyncCalls: Readonly<Record<string, Simulated>> = {
  mkdir: async ({ calls }, path, [options], root) => {
    const first = await calls.mkdir(path, options as Parameters<DiskCalls["mkdir"]>[1]);
    return first === undefined ? undefined : root + first;
  },
  readdir: ({ calls }, path) => calls.readdir(path),
  rename: ({ calls }, path, [to]) => calls.rename(path, otherPath(to)),
  link: ({ calls }, path, [to]) => calls.link(path, otherPath(to)),
  copyFile: ({ calls }, path, [to]) => calls.copyFile(path, otherPath(to)),
  rm: ({ calls }, path, [options]) => calls.rm(path, options as Parameters<DiskCalls["rm"]>[1]),
  rmdir: ({ calls }, path) => calls.rmdir(path),
  unlink: ({ calls }, path) => calls.unlink(path),
  stat: ({ calls }, path) => calls.stat(path),
  open: ({ calls }, path, [flags]) => calls.open(path, flags as string | undefined),
  readFile: ({ calls }, path, [options]) =>
    calls.readFile(path, options as Parameters<DiskCalls["readFile"]>[1]),
  writeFile: ({ calls }, path, [content]) => calls.writeFile(path, content as string | Uint8Array),
};

/** Synchronous calls take no time and never fail. */
const syncCalls: Readonly<Record<string, Simulated>> = {
  existsSync: ({ disk }, path) => disk.find(path) !== null,
  statSync: ({ disk }, path) => statOf(disk.get(path)),
  readdirSync: ({ disk }, path) => [...disk.folder(path).entries.keys()],
  readFileSync: ({ disk }, path, [encoding]) => {
    const bytes = Buffer.from(disk.file(path).content);
    return encoding === undefined ? bytes : bytes.toString("utf8");
  },
  openSync: ({ disk }, path) => {
    const descriptor = firstDescriptor + openedCount++;
    opened.set(descriptor, { bytes: disk.file(path).content, position: 0 });
    return descriptor;
  },
};

/** Synchronously opened files. Their descriptors are numbers that no real file has. */
const opened = new Map<unknown, { readonly bytes: Uint8Array; position: number }>();
const firstDescriptor = 1_000_000_000;
let openedCount = 0;

function replaceDescriptorCalls(module: Calls): void {
  const { readSync, closeSync } = module;
  module["readSync"] = (descriptor, target, ...rest) => {
    const file = opened.get(descriptor);
    if (file === undefined) return readSync(descriptor, target, ...rest);
    // Supports only the form that the product uses: reads from the current position until the buffer is full.
    const buffer = target as Uint8Array;
    const piece = file.bytes.subarray(file.position, file.position + buffer.length);
    buffer.set(piece);
    file.position += piece.length;
    return piece.length;
  };
  module["closeSync"] = (descriptor) => {
    if (!opened.delete(descriptor)) closeSync(descriptor);
  };
}

/** Returns a random UUID of version 4. */
function uuidOf(random: Random): string {
  const bytes = randomOf(random, 16);
  bytes[6] = 0x40 | (bytes[6] & 0x0f);
  bytes[8] = 0x80 | (bytes[8] & 0x3f);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

function randomOf(random: Random, count: number): Buffer {
  return Buffer.from(Array.from({ length: count }, () => random.index(256)));
}
