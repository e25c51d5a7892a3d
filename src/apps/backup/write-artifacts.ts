// The files of a moment, written into an archive, and compared with what the database says of them on the way.
import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ArchiveWriter } from "./archive/archive-writer.ts";
import { filesBelow, type FoundFile } from "./archive/files-below.ts";
import type { Fault } from "./fault.ts";
import type { StagedArtifact } from "./hold-moment.ts";
import type { Report } from "./progress.ts";
import { faultOfFiles, type Reference } from "./references.ts";

/**
 * What is written goes from where it was kept.
 *
 * @returns a fault for each artifact that is not as it was stored, and for each path that is not a plain file; such paths are
 *   not opened and not copied
 */
export async function writeArtifacts(
  writer: ArchiveWriter,
  artifacts: readonly StagedArtifact[],
  { report, signal }: { readonly report: Report; readonly signal: AbortSignal },
): Promise<readonly Fault[]> {
  const found = new Map<StagedArtifact, readonly FoundFile[]>();
  for (const artifact of artifacts) found.set(artifact, await filesBelow(artifact.path));
  const all = [...found.values()].flat();
  const inAll = { filesInAll: all.length, bytesInAll: all.reduce((sum, { bytes }) => sum + bytes, 0) };
  let [files, bytes] = [0, 0];
  const faults: Fault[] = [];
  report({ kind: "files", files, bytes, ...inAll });
  for (const [{ reference, path }, names] of found) {
    const hashes = new Map<string, string>();
    let isComplete = true;
    for (const { name, bytes: ofFile, other } of names) {
      signal.throwIfAborted();
      const target = name === "" ? reference.key : `${reference.key}/${name}`;
      if (other !== null) {
        if (name === "" || reference.files.includes(name)) isComplete = false;
        faults.push(notCopied(reference, target, other));
        continue;
      }
      hashes.set(name, await writer.add(target, createReadStream(join(path, name))));
      [files, bytes] = [files + 1, bytes + ofFile];
      report({ kind: "files", files, bytes, ...inAll });
    }
    const fault = faultOfFiles(reference, { hashes, bytes: names[0]?.bytes ?? null });
    if (fault !== null && isComplete) faults.push(fault);
    await rm(path, { recursive: true, force: true });
  }
  return faults;
}

function notCopied({ key, owner }: Reference, path: string, kind: string): Fault {
  const message = `${path}, of ${owner}, is ${kind}, where a plain file should be. It was not opened, and is not in the copy. Put the file itself there, or remove it.`;
  return { what: key, message };
}
