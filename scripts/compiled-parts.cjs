// Loads the parts of the bundle, which are CommonJS files. Part of each process and thread that runs the bundle.
//
// Node.js compiles a function when it first runs, which takes a third of a start's processor time. So the first process
// of each kind stores the functions that V8 has compiled, and later processes read them. V8 refuses stored functions of
// another V8 version or with other V8 flags, and then compiles the code as usual. Nothing depends on a stored file, and
// Hone starts without one.
const {
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
} = require("node:fs");
const { renameSync, rmSync, statSync, unlinkSync, writeFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const { homedir } = require("node:os");
const paths = require("node:path");
const { fileURLToPath, pathToFileURL } = require("node:url");
const { cachedDataVersionTag } = require("node:v8");
const { Script, constants } = require("node:vm");
const { threadId } = require("node:worker_threads");
const { crc32 } = require("node:zlib");

/** Hash of the bundled code, which the bundler inserts. */
const codeHash = "CODE_HASH";
/** Wait after the last part was loaded. By then, a server has run the code of its start. */
const storeAfterMs = 2000;
/** Number of folders of other builds, V8 versions and V8 flags that are kept. Each has a few megabytes. */
const foldersMax = 8;

/** Folders for compiled functions: next to the bundle, or the user's if Hone may not write there. */
const places = [
  { parent: paths.join(__dirname, "..", "compiled"), isOfUser: false },
  {
    parent: paths.join(process.env.XDG_CACHE_HOME || paths.join(homedir(), ".cache"), "hone", "compiled"),
    isOfUser: true,
  },
];
const folderName = `${codeHash}-${process.version}-${process.arch}-${cachedDataVersionTag()}`;
const besideBundle = paths.join(__dirname, "..", "/");
const requireModule = createRequire(__filename);
/** URL of the bundle's folder. */
const ownFolder = pathToFileURL(paths.join(__dirname, "/")).href;
/** Loaded parts, by name: the script, its exports, and whether V8 compiled it without stored functions. */
const parts = new Map();
/** Name of the file with compiled functions, which all processes and threads of a kind share. */
let fileName = null;
let stored = new Map();
let timer;

/** Loads the part that a process, a thread or a module starts with. */
module.exports = function loadEntry(name) {
  if (fileName === null) {
    const isServer = process.argv.includes("serve");
    fileName = isServer ? `${name}-serve` : name;
    stored = readStored();
    process.once("exit", store);
  }
  return loadPart(`./part-${name}.js`);
};

function loadPart(name) {
  const known = parts.get(name);
  if (known !== undefined) return known.exports;
  const path = paths.join(__dirname, name);
  const url = pathToFileURL(path).href;
  const head = "(function(exports,require,module,partUrl,besideBundle,importPart){'use strict';\n";
  const script = new Script(`${head}${readFileSync(path, "latin1")}\n})`, {
    filename: url,
    lineOffset: -1,
    cachedData: stored.get(name),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const part = { script, exports: {}, isStored: script.cachedDataRejected === false };
  parts.set(name, part);
  if (!part.isStored) {
    clearTimeout(timer);
    timer = setTimeout(store, storeAfterMs).unref();
  }
  script.runInThisContext()(part.exports, requirePart, part, url, besideBundle, importPart);
  return part.exports;
}

function requirePart(name) {
  if (name.startsWith("./part-")) return loadPart(name);
  // npm may install the native package of libSQL within the folder of libSQL.
  return (name.startsWith("@libsql/") ? createRequire(requireModule.resolve("libsql")) : requireModule)(name);
}

/** Imports a part by its name, an entry of the bundle by its URL, or any other module. */
async function importPart(name) {
  if (name.startsWith("./part-")) return loadPart(name);
  return name.startsWith(ownFolder) ? requireModule(fileURLToPath(name)) : import(name);
}

/** Returns the stored functions by part; none if there is no usable file. */
function readStored() {
  for (const { parent, isOfUser } of places) {
    try {
      const file = openSync(paths.join(parent, folderName, fileName), "r");
      try {
        // A file that another user can write could contain any code.
        const { uid, mode } = fstatSync(file);
        if (isOfUser && process.geteuid && (uid !== process.geteuid() || (mode & 0o022) !== 0)) continue;
        return partsOf(readFileSync(file));
      } finally {
        closeSync(file);
      }
    } catch {
      // The file does not exist yet, or cannot be read.
    }
  }
  return new Map();
}

/**
 * Returns the stored functions by part. A file begins with its checksum, because V8 ends the process if functions are
 * damaged. The length of the list of parts follows, then the list as JSON, and the functions.
 */
function partsOf(bytes) {
  if (bytes.readUInt32LE(0) !== crc32(bytes.subarray(4))) return new Map();
  const listEnd = 8 + bytes.readUInt32LE(4);
  let offset = aligned(listEnd);
  return new Map(
    JSON.parse(bytes.toString("utf8", 8, listEnd)).map(([name, byteCount]) => {
      const entry = [name, bytes.subarray(offset, offset + byteCount)];
      offset += aligned(byteCount);
      return entry;
    }),
  );
}

/** Stores the functions compiled so far, if they include parts that are not stored yet. */
function store() {
  clearTimeout(timer);
  if ([...parts.values()].every(({ isStored }) => isStored)) return;
  for (const { parent } of places) {
    const folder = paths.join(parent, folderName);
    const partial = paths.join(folder, `${fileName}.${process.pid}-${threadId}.partial`);
    try {
      mkdirSync(folder, { recursive: true });
      const file = openSync(partial, "wx");
      try {
        writeFileSync(file, bytesOfParts());
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
      renameSync(partial, paths.join(folder, fileName));
      removeOldFolders(parent);
      return;
    } catch {
      // Hone may not write here, or the disk is full. The next start then compiles the code again.
      removeFile(partial);
    }
  }
}

function removeFile(path) {
  try {
    unlinkSync(path);
  } catch {
    // The file was never created.
  }
}

function bytesOfParts() {
  const all = new Map(stored);
  for (const [name, part] of parts) {
    all.set(name, part.script.createCachedData());
    part.isStored = true;
  }
  const list = Buffer.from(JSON.stringify([...all].map(([name, { length }]) => [name, length])));
  const bytes = Buffer.concat([
    Buffer.alloc(8),
    list,
    padding(list.length),
    ...[...all.values()].flatMap(padded),
  ]);
  bytes.writeUInt32LE(list.length, 4);
  bytes.writeUInt32LE(crc32(bytes.subarray(4)), 0);
  return bytes;
}

/** Returns the bytes, followed by zeros up to a multiple of 8: V8 would copy functions at other addresses. */
function padded(bytes) {
  return [bytes, padding(bytes.length)];
}

function padding(byteCount) {
  return Buffer.alloc(aligned(byteCount) - byteCount);
}

function aligned(byteCount) {
  return Math.ceil(byteCount / 8) * 8;
}

/** Removes the oldest folders of other builds and V8 versions. */
function removeOldFolders(parent) {
  const names = readdirSync(parent).filter((name) => name !== folderName);
  const byAge = names
    .map((name) => ({ path: paths.join(parent, name), time: statSync(paths.join(parent, name)).mtimeMs }))
    .sort((one, other) => other.time - one.time);
  for (const { path } of byAge.slice(foldersMax)) rmSync(path, { recursive: true, force: true });
}
