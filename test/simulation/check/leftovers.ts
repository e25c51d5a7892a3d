// Checks the files left on the disk at the end: each must belong to something that exists.
import { adapterFolderOf, adaptersOf } from "../../../src/base/domain/model.ts";
import type { Operation, Remains } from "../history.ts";
import { asked } from "./asked.ts";

export function leftoverFaults(history: readonly Operation[], remains: Remains): readonly string[] {
  const { versions, files, disk } = remains;
  const known = [
    // What tells this place from others.
    "/artifacts-id",
    ...versions
      .filter(({ step, isDeleted }) => step > 0 && !isDeleted)
      .map(({ modelId, step }) => `/${adapterFolderOf(modelId, step)}/`),
    ...files.map((id) => `/files/${id}`),
  ];
  // What a server that died while it deleted a model could not say before: the log names it, and nobody removes it.
  if (remains.wasFull)
    known.push(...asked(history, "delete model").map(({ modelId }) => `/${adaptersOf(modelId)}/`));
  // Of an import whose commit was lost, until the next version takes its place.
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
