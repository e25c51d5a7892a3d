// Routes of Langfuse's API that its libraries use besides OTLP: scores, and the check of their credentials.
import type { FastifyInstance } from "fastify";
import type { Caller } from "../../../base/domain/access.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { FeedbackInput } from "../../../judge/feedback/check-content.ts";
import {
  ingestionAnswerSchema,
  projectsAnswer,
  projectsAnswerSchema,
  scoresAnswerSchema,
} from "../../wire/langfuse/answers.ts";
import {
  eventsIn,
  ingestionBodySchema,
  readScore,
  scoresMax,
  scoreSchema,
} from "../../wire/langfuse/score.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { endpoints } from "../endpoints/endpoint.ts";
import { errorAnswer } from "../errors.ts";
import { langfuseProject } from "./trace-project.ts";

export function langfuseRoutes(app: FastifyInstance, { feedback, settings }: HttpDependencies): void {
  const on = endpoints(app, {
    tag: "traces",
    scheme: "basic",
    options: { bodyLimit: settings.feedbackBodyBytes },
  });
  const keep = (score: unknown, projectId: string, caller: Caller): Promise<string> =>
    storeScore(feedback, readScore(score, projectId), caller);
  on(
    "GET /api/public/projects",
    {
      summary: "Read the project of a public key, for Langfuse's libraries",
      answer: "The project.",
      json: projectsAnswerSchema,
    },
    ({ request }) => projectsAnswer(langfuseProject(request)),
  );
  on(
    "POST /api/public/scores",
    {
      summary: "Record a score or a list of scores, for Langfuse's libraries",
      description:
        "Each score becomes feedback on a call: the one with the observation's id, or without an observation, the one with the trace's id. All stored scores are on disk before the server answers. The answer to a list has the status 202 if all scores are stored, and 207 if some were refused.",
      documented: { body: scoreSchema },
      answer: "The scores are stored.",
      json: scoresAnswerSchema,
    },
    async ({ request, reply, caller }) => {
      const projectId = langfuseProject(request);
      const { body } = request;
      if (!Array.isArray(body)) return { id: await keep(body, projectId, caller) };
      if (body.length > scoresMax) throw tooMany(body.length);
      const errors: object[] = [];
      for (const [index, score] of body.entries()) {
        const refusal = await refusalOf(() => keep(score, projectId, caller), request.id);
        if (refusal !== null) errors.push({ index, ...refusal });
      }
      if (errors.length === 0) return reply.code(202).send({ accepted: body.length, rejected: 0 });
      return reply.code(207).send({ accepted: body.length - errors.length, rejected: errors.length, errors });
    },
  );
  on(
    "POST /api/public/ingestion",
    {
      summary: "Record a batch of scores, for Langfuse's libraries",
      description:
        "Supports only events of the type `score-create`. Traces are sent to /api/public/otel/v1/traces.",
      documented: { body: ingestionBodySchema },
      answer: "The result for each event.",
      json: ingestionAnswerSchema,
    },
    async ({ request, reply, caller }) => {
      const projectId = langfuseProject(request);
      const successes: object[] = [];
      const errors: object[] = [];
      for (const { id, type, body } of eventsIn(request.body)) {
        const refusal = await refusalOf(async () => {
          if (type !== "score-create") throw wrongType(type);
          await keep(body, projectId, caller);
        }, request.id);
        if (refusal === null) successes.push({ id, status: 201 });
        else errors.push({ id, ...refusal });
      }
      return reply.code(207).send({ successes, errors });
    },
  );
}

/** Stores a score and returns its id. A score whose id exists with other content replaces the earlier one. */
async function storeScore(
  feedback: HttpDependencies["feedback"],
  input: FeedbackInput,
  caller: Caller,
): Promise<string> {
  try {
    return (await feedback.create(input, caller)).id;
  } catch (error) {
    if (input.id === null || !(error instanceof ServiceError) || error.code !== "conflict") throw error;
    return (await feedback.replace(input.id, input, caller)).id;
  }
}

interface Refusal {
  readonly status: number;
  readonly message: string;
}

/** Returns the refusal of one score. Errors that are not about the score fail the whole request. */
async function refusalOf(store: () => Promise<unknown>, requestId: string): Promise<Refusal | null> {
  try {
    await store();
    return null;
  } catch (error) {
    const { status, body } = errorAnswer(error, requestId);
    if (status >= 500 || status === 429) throw error;
    return { status, message: body.error.message };
  }
}

function wrongType(type: string): ServiceError {
  const message = `Events of the type ${JSON.stringify(type.slice(0, 100))} are not supported; only score-create is. Send traces to /api/public/otel/v1/traces.`;
  return new ServiceError({ code: "unsupported", message });
}

function tooMany(count: number): ServiceError {
  const message = `The request has ${count} scores; at most ${scoresMax} are allowed at a time.`;
  return new ServiceError({ code: "too_large", faults: [{ location: ["body"], message, type: "too_long" }] });
}
