// Reads a batch's records from its bytes. It finds every fault of every record, so that one answer names them all.
import { foreignMessage, mayReach, type Caller } from "../../../base/domain/access.ts";
import { parseProjectId } from "../../../base/domain/project.ts";
import { quoted, ServiceError } from "../../../base/domain/service-error.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import {
  type FeedbackBatch,
  FeedbackPacker,
  type PackForm,
} from "../../../base/domain/feedback-query/feedback-batch.ts";
import { newUuid7 } from "../../../base/domain/random.ts";
import {
  checkContent,
  checkedFeedback,
  type ContentCheck,
  type FeedbackInput,
} from "../../../judge/feedback/check-content.ts";
import { check } from "../../../base/validation/check.ts";
import { isAtFaultLimit, report, type Findings } from "../../../base/validation/findings.ts";
import { readForm } from "../body.ts";
import {
  checkSpellings,
  feedbackBatchForm,
  feedbackRecordSchema,
  toFeedbackInput,
  usesOtherSpelling,
  type FeedbackBody,
} from "./feedback.ts";
import type { BodyLimits } from "../body-limits.ts";
import { parseListBody, type ListBody } from "../../../base/validation/list-body.ts";
import type { PackedLines } from "../packed-lines.ts";
import { BatchAnswerWriter } from "./batch-answer.ts";

export interface ReadFeedbackBatch {
  readonly batch: FeedbackBatch;
  /** Answers for `newBatchAnswer`. */
  readonly answers: PackedLines;
  /** True for each record whose answer uses the other spelling. */
  readonly useOtherSpelling: readonly boolean[];
  readonly ignored: readonly string[];
}

/**
 * @throws ServiceError `too_large` for too many records, before they are read, because clients halve the batch then
 * but drop it after other faults; `invalid` with every fault of every record; `forbidden` if all faults are foreign
 * projects
 */
export function readFeedbackBatch(
  bytes: Buffer,
  limits: BodyLimits,
  { caller, packForm }: { readonly caller: Caller; readonly packForm: PackForm },
): ReadFeedbackBatch {
  const list = parseListBody(bytes, { member: "batch", itemsMax: limits.feedbackBatchRecords }, limits.json);
  if (list.itemCount > limits.feedbackBatchRecords)
    throw tooMany(list.itemCount, limits.feedbackBatchRecords);
  const writer = new BatchWriter(caller, packForm);
  let foreignCount = 0;
  let found: Findings | null = null;
  try {
    const { ignored } = readForm(feedbackBatchForm, list.rest, (findings) => {
      found = findings;
      foreignCount = readRecords(list, findings, caller, writer);
    });
    return { ...writer.written(), ignored };
  } catch (error) {
    throw foreignCount > 0 && foreignCount === countOf(found) ? asForbidden(error) : error;
  }
}

class BatchWriter {
  readonly #packer: FeedbackPacker;
  readonly #answers: BatchAnswerWriter;
  readonly #useOtherSpelling: boolean[] = [];

  constructor({ owner }: Caller, packForm: PackForm) {
    this.#packer = new FeedbackPacker(packForm);
    this.#answers = new BatchAnswerWriter(owner);
  }

  /** @param found the check's result, without faults */
  add(body: FeedbackBody, found: ContentCheck): void {
    const id = body.id ?? newUuid7(systemClock);
    const { payloadText } = found;
    this.#packer.add({ id, ...checkedFeedback(found) }, payloadText);
    this.#answers.add({ id, payloadText, usesOtherSpelling: usesOtherSpelling(body) });
    this.#useOtherSpelling.push(usesOtherSpelling(body));
  }

  written(): Omit<ReadFeedbackBatch, "ignored"> {
    return {
      batch: this.#packer.packed(),
      answers: this.#answers.packed(),
      useOtherSpelling: this.#useOtherSpelling,
    };
  }
}

function countOf(findings: Findings | null): number {
  return findings?.faultCount ?? 0;
}

/** @returns the number of faults that are foreign projects */
function readRecords({ items }: ListBody, findings: Findings, caller: Caller, writer: BatchWriter): number {
  let index = 0;
  let foreignCount = 0;
  for (const item of items) {
    findings.path.push("batch", String(index));
    const isShaped = check(feedbackRecordSchema, item, findings);
    checkSpellings(item, findings);
    if (isShaped) {
      // Safe cast: the walk found no deviation from the schema.
      const body = item as FeedbackBody;
      const input = toFeedbackInput(body);
      const found = checkContent(input);
      foreignCount += addFaults(input, found, findings, caller);
      if (findings.faultCount === 0) writer.add(body, found);
    }
    findings.path.length -= 2;
    index += 1;
    if (isAtFaultLimit(findings)) break;
  }
  return foreignCount;
}

/** @returns 1 if the project is another entity's */
function addFaults(
  { projectId }: FeedbackInput,
  { faults }: ContentCheck,
  findings: Findings,
  caller: Caller,
): number {
  for (const { path, message, type } of faults) {
    // A missing reference was already reported, under either name.
    if (type !== "missing" || path[0] !== "vendor_ref") report(findings, type, message, ...path);
  }
  const project = parseProjectId(projectId);
  if (project === null || mayReach(caller, project)) return 0;
  const message = foreignMessage(caller, project, `The project ${quoted(projectId)}`);
  report(findings, "forbidden", message, "project_id");
  return 1;
}

function asForbidden(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error;
  const { message, faults } = error;
  return new ServiceError({ code: "forbidden", message, faults, cause: error });
}

function tooMany(count: number, countMax: number): ServiceError {
  const message = `The batch has ${count} records; at most ${countMax} are allowed at a time. Send halves.`;
  const faults = [{ location: ["body", "batch"], message, type: "too_long" }];
  return new ServiceError({ code: "too_large", faults });
}
