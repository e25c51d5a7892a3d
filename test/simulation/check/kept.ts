// Promises about uploaded files, recorded answers and feedback: acknowledged data exists once and unchanged, deleted
// data stays deleted, and nothing exists that nobody sent.
import type { Operation, Remains } from "../history.ts";
import { asked } from "./asked.ts";

export function keptFaults(history: readonly Operation[], remains: Remains): readonly string[] {
  return [
    ...fileFaults(history, remains),
    ...answerFaults(history, remains),
    ...feedbackFaults(history, remains),
  ];
}

function fileFaults(history: readonly Operation[], { files, disk }: Remains): readonly string[] {
  const faults: string[] = [];
  /** The earliest time at which each file may have been deleted. */
  const deletedMs = new Map<string, number>();
  for (const { fileId, calledMs } of asked(history, "delete file"))
    deletedMs.set(fileId, Math.min(calledMs, deletedMs.get(fileId) ?? Infinity));
  for (const { content, outcome, endedMs } of asked(history, "upload")) {
    if (outcome.kind !== "done") continue;
    const id = outcome.result;
    const isThere = files.includes(id) && disk.get(`/files/${id}`) === content;
    if (!isThere && !deletedMs.has(id))
      faults.push(`file ${id} was acknowledged and is not there, or not whole`);
    for (const read of asked(history, "read file")) {
      if (read.fileId !== id || read.outcome.kind !== "done" || read.calledMs < endedMs) continue;
      const mayBeGone = (deletedMs.get(id) ?? Infinity) < read.endedMs;
      if (read.outcome.result !== content && !(read.outcome.result === null && mayBeGone))
        faults.push(`file ${id} was read as ${JSON.stringify(read.outcome.result)}`);
    }
  }
  for (const { fileId, outcome } of asked(history, "delete file"))
    if (outcome.kind === "done" && (files.includes(fileId) || disk.has(`/files/${fileId}`)))
      faults.push(`file ${fileId} was deleted, and is there`);
  for (const id of files)
    if (!disk.has(`/files/${id}`)) faults.push(`file ${id} is known, and its bytes are not there`);
  return faults;
}

function answerFaults(history: readonly Operation[], { answers, models }: Remains): readonly string[] {
  const faults: string[] = [];
  for (const { requestId, modelId, outcome } of asked(history, "record answer")) {
    const count = answers.filter((id) => id === requestId).length;
    if (count > 1) faults.push(`the answer ${requestId} is recorded ${count} times`);
    const isAcknowledged = outcome.kind === "done" && outcome.result;
    if (isAcknowledged && count === 0 && models.includes(modelId))
      faults.push(`the answer ${requestId} was recorded, and is not there`);
  }
  const sent = new Set(asked(history, "record answer").map(({ requestId }) => requestId));
  return [
    ...faults,
    ...answers.filter((id) => !sent.has(id)).map((id) => `the answer ${id} is there, and nobody gave it`),
  ];
}

function feedbackFaults(history: readonly Operation[], { feedback }: Remains): readonly string[] {
  const faults: string[] = [];
  const sent = new Map(asked(history, "give feedback").map(({ recordId, note }) => [recordId, note]));
  /** The time at which each record was first acknowledged. */
  const knownMs = new Map<string, number>();
  for (const { recordId, outcome, endedMs } of asked(history, "give feedback"))
    if (outcome.kind === "done") knownMs.set(recordId, Math.min(endedMs, knownMs.get(recordId) ?? Infinity));
  for (const id of knownMs.keys()) {
    const stored = feedback.filter((record) => record.id === id);
    if (stored.length !== 1 || stored[0].note !== sent.get(id))
      faults.push(`feedback ${id} was acknowledged and is stored ${stored.length} times`);
  }
  for (const { id } of feedback)
    if (!sent.has(id)) faults.push(`feedback ${id} is there, and nobody sent it`);
  for (const { recordId, outcome, calledMs } of asked(history, "read feedback")) {
    if (outcome.kind !== "done" || (knownMs.get(recordId) ?? Infinity) > calledMs) continue;
    if (outcome.result !== sent.get(recordId))
      faults.push(`feedback ${recordId} was read as ${String(outcome.result)}`);
  }
  for (const { outcome, calledMs } of asked(history, "list feedback")) {
    if (outcome.kind !== "done") continue;
    const listed = new Set(outcome.result);
    if (listed.size < outcome.result.length) faults.push("a list of feedback has a record twice");
    for (const [id, atMs] of knownMs)
      if (atMs <= calledMs && !listed.has(id)) faults.push(`a list of feedback lacks ${id}`);
  }
  return faults;
}
