// Checks the files left on the disk at the end: each must belong to something that exists.
import { adapterFolderOf, adaptersOf } from "../../../src/base/domain/model.ts";
import type { Operation, Remains } from "../history.ts";
import { asked } from "./asked.ts";

export function leftoverFaults(history: readonly Operation[], remains: Remains): readonly string[] {
  const { versions, files, disk } = remains;
  const known = [
    // File that identifies the artifacts folder.
    "/artifacts-id",
    ...versions
      .filter(({ step, isDeleted }) => step > 0 && !isDeleted)
      .map(({ modelId, step }) => `/${adapterFolderOf(modelId, step)}/`),
    ...files.map((id) => `/files/${id}`),
  ];
  // If a server died while it deleted a model on a full disk, it could not record the removal in the database. The
  // operator finds the remaining files in the log.
  if (remains.wasFull)
    known.push(...asked(history, "delete model").map(({ modelId }) => `/${adaptersOf(modelId)}/`));
  // An import whose commit was lost leaves files until the next version replaces them.
  const imported = new Set(asked(history, "import").map(({ modelId }) => modelId));
  for (const modelId of imported) {
    const steps = versions.filter((version) => version.modelId === modelId).map(({ step }) => step);
    known.push(`/${adapterFolderOf(modelId, Math.max(...steps) + 1)}/`);
  }
  const unknown = [...disk].filter(
    ([path, content]) => content !== null && !known.some((start) => path.startsWith(start)),
  );
  return unknown.map(([path]) => `${path} is left on the disk, and belongs to nothing`);
}
