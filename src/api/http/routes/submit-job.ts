// Submits jobs of any kind to the queue. It looks up a job's model as soon as the body has named it. A repeated request
// with the same idempotency key creates no second job.
import type { FastifyRequest } from "fastify";
import { cut } from "../../../base/domain/service-error.ts";
import { newUuid7 } from "../../../base/domain/random.ts";
import type {
  IdempotencyKey,
  JobCreation,
  JobDraft,
  JobKind,
  JobTask,
  MadeBy,
} from "../../../base/domain/job.ts";
import type { TrainedModel } from "../../../base/domain/model.ts";
import { newJob } from "../../../train/jobs/new-job.ts";
import { newFindings, refuseFaults, report } from "../../../base/validation/findings.ts";
import { linesIn, type PackedLines, outlinesIn } from "../../wire/packed-lines.ts";
import { locate } from "../../wire/field-paths.ts";
import { type GreatestTokenId, refuseUnknownTokenId } from "../../wire/training/recorded-tokens.ts";
import { modelIdAtHead } from "../../wire/training-job.ts";
import type { HeadCheck } from "../bodies/gather-body.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { reachModel } from "./reach.ts";

const modelPlace = ["body", "model_id"];

/**
 * Returns a check that finds the model while the body arrives. Clients send the model before the data, so a request for
 * an unknown model is refused early.
 */
export function modelCheck(request: FastifyRequest, dependencies: HttpDependencies): HeadCheck {
  return {
    find: modelIdAtHead,
    check: async (id) => {
      request.model = await reachModel(dependencies, request.caller, id, modelPlace);
    },
  };
}

/** Returns the vocabulary size of a model; null if the model is unknown or its base is not served. */
export function vocabularySizeOf(
  model: TrainedModel | null,
  { baseModels }: Pick<HttpDependencies, "baseModels">,
): number | null {
  return baseModels().find(({ name }) => name === model?.baseModel)?.vocabularySize ?? null;
}

/** A job as read from a request's body. */
export interface SubmittedJob {
  readonly modelId: string;
  readonly task: JobTask;
  readonly configNotApplied: readonly string[];
  readonly lines: PackedLines;
  /** Summaries of the trajectories in the body; absent if the job does not train on trajectories. */
  readonly outlines?: PackedLines;
  readonly hash: string;
  /** Greatest token id in the body's Choices; absent or null if there are none. */
  readonly greatestTokenId?: GreatestTokenId | null;
}

/** Stores the job durably and returns its id. */
export async function submitJob(
  request: FastifyRequest,
  dependencies: HttpDependencies,
  { modelId, task, configNotApplied, lines, outlines, hash, greatestTokenId = null }: SubmittedJob,
): Promise<string> {
  const idempotency = idempotencyOf(request, hash);
  const model = await reachModel(dependencies, request.caller, modelId, modelPlace);
  refuseUnknownTokenId(greatestTokenId, vocabularySizeOf(model, dependencies));
  const { clock, jobs, jobQueue, room } = dependencies;
  const id = newUuid7(clock);
  const warnings = notAppliedWarnings(configNotApplied);
  const identity = { id, modelId: model.id, task, configNotApplied, createdAt: clock.now() };
  const job = newJob({ ...identity, warnings, ...madeBy(request) });
  try {
    if (idempotency === null || (await jobs.findCreated(idempotency)) === null)
      await room.require(model.entity);
    const outlined = outlines === undefined ? {} : { outlines: outlinesIn(outlines) };
    const { keyId } = request.caller;
    return (await jobQueue.submit(job, linesIn(lines), idempotency, { ...outlined, keyId })).id;
  } catch (error) {
    throw locate(error, { ...keyPlace, ...trainerPaths(task.kind) });
  }
}

/** Returns the origin of a job: the ids of the request and the trace that created it. */
export function madeBy({ id, span }: Pick<FastifyRequest, "id" | "span">): { readonly madeBy: MadeBy } {
  return { madeBy: { requestId: id, traceparent: span?.traceparent ?? null } };
}

/**
 * Returns the location in the request of each field that a trainer may refuse: the model and some settings of the job.
 */
export function trainerPaths(kind: JobKind) {
  const config = kind === "rl" ? "experimental_config" : "config";
  return {
    model: modelPlace,
    klPenaltyCoefficient: ["body", config, "kl_penalty_coef"],
    basePrecision: ["body", config, "base_precision"],
    reference: ["body", config, "reference"],
  };
}

/** Maximum number of options for which the answer has a separate warning. */
const warnedMax = 20;

/**
 * Returns a function that submits a job. It passes on the request's idempotency key, if there is one.
 *
 * @param hash hash of the request's body
 */
export function submitWith(
  request: FastifyRequest,
  { jobQueue }: Pick<HttpDependencies, "jobQueue">,
  hash: string,
) {
  const idempotency = idempotencyOf(request, hash);
  return (
    job: JobDraft,
    lines: Iterable<string>,
    more: Pick<JobCreation, "outlines" | "feedback" | "rollouts">,
  ): Promise<{ readonly id: string }> =>
    jobQueue.submit({ ...job, ...madeBy(request) }, lines, idempotency, {
      ...more,
      keyId: request.caller.keyId,
    });
}

/**
 * Returns warnings about options that have no effect, because the sender may rely on them. Known options that Hone does
 * not support have already been refused.
 */
export function notAppliedWarnings(keys: readonly string[]): readonly string[] {
  const warnings = keys.slice(0, warnedMax).map((key) => {
    const why =
      key === "truncated_importance_sampling"
        ? "it requires precalculate_logprobs"
        : "this server has no option with this name";
    return `${cut(key, 100)} was sent and is not applied: ${why}.`;
  });
  const more = keys.length - warnings.length;
  return more === 0 ? warnings : [...warnings, `${more} more options were sent and are not applied.`];
}

/**
 * Returns the id of the job that an earlier request with the same idempotency key and body created; null if there is no
 * such job. It does not matter if the model or its files have changed since.
 *
 * @param hash hash of the request's body
 * @throws ServiceError `conflict` if the key was used with another body, `invalid` for an invalid key
 */
export async function submittedBefore(
  request: FastifyRequest,
  { jobs }: Pick<HttpDependencies, "jobs">,
  hash: string,
): Promise<string | null> {
  const idempotency = idempotencyOf(request, hash);
  if (idempotency === null) return null;
  try {
    return await jobs.findCreated(idempotency);
  } catch (error) {
    throw locate(error, keyPlace);
  }
}

const keyPlace = { conflict: ["header", "idempotency-key"] };

function idempotencyOf(request: FastifyRequest, bodyHash: string): IdempotencyKey | null {
  const key = idempotencyKeyOf(request);
  return key === null ? null : { keyId: request.caller.keyId, key, bodyHash };
}

/**
 * Returns the request's idempotency key; null if the request has none.
 *
 * @throws ServiceError `invalid` for an invalid key
 */
function idempotencyKeyOf(request: FastifyRequest): string | null {
  const key = request.headers["idempotency-key"];
  if (key === undefined) return null;
  const findings = newFindings("header");
  if (typeof key !== "string" || key.length === 0 || key.length > 256) {
    report(findings, "value_error", "Input should be 1 to 256 characters", "idempotency-key");
  }
  refuseFaults(findings);
  return String(key);
}
