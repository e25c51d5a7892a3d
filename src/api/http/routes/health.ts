// Routes that report the health, version, load and metrics of the server. They need no credentials, except that
// `http.operatorRoutes` may require a key for the metrics and the system check.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { cut, ServiceError } from "../../../base/domain/service-error.ts";
import {
  healthSchema,
  loadSchema,
  systemCheckSchema,
  unhealthySchema,
  versionSchema,
} from "../../wire/health.ts";
import type { EngineHealth, HttpDependencies } from "../dependencies.ts";
import { answered } from "../documentation/document-routes.ts";
import { endpoints } from "../endpoints/endpoint.ts";
import { errorAnswer } from "../errors.ts";
import type { InFlight } from "../limits/admission.ts";

interface Health {
  readonly state: string;
  /** Sentence that says why the state is not `ready`. */
  readonly reason: string;
  readonly models: EngineHealth["models"];
}

export function healthRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  inFlight: Pick<InFlight, "total">,
): void {
  const on = endpoints(app, { tag: "health" });
  for (const url of ["/health", "/v1/health", "/ping"] as const)
    on(
      `GET ${url}`,
      { summary: "Check whether the server can answer requests", ...checkAnswers(healthSchema) },
      ({ request, reply }) => {
        const { state, reason, models } = healthOf(dependencies);
        if (state === "ready") return { status: "ok", state, reason, models };
        const why = `The server is ${state}${reason === "" ? "" : `: ${reason}`}`;
        return failedCheck(request, reply, { state, reason, models }, why);
      },
    );
  on(
    "GET /v1/system-check",
    { summary: "Check the parts of the server", ...checkAnswers(systemCheckSchema) },
    async ({ request, reply }) => {
      const parts = await checkParts(dependencies);
      const faults = Object.entries(parts).filter(([, part]) => part !== "ok");
      const told = { ...parts, note: dependencies.databaseNote() ?? "" };
      if (faults.length === 0) return { status: "ok", ...told };
      return failedCheck(request, reply, told, faults.map(([name, fault]) => `${name}: ${fault}`).join(" "));
    },
  );
  on(
    "GET /version",
    {
      summary: "Read the server's version",
      answer: "The version of Hone.",
      json: versionSchema,
    },
    () => ({ version: dependencies.version }),
  );
  on(
    "GET /load",
    { summary: "Read the server's load", answer: "The load, in the form of vLLM's API.", json: loadSchema },
    () => ({ server_load: inFlight.total() }),
  );
  on(
    "GET /metrics",
    {
      summary: "Read the metrics",
      answer: "The metrics, in Prometheus' text format.",
      text: { type: "string" },
    },
    async ({ reply }) => {
      const { text, contentType } = await dependencies.metrics.expose();
      return reply.header("content-type", contentType).send(text);
    },
  );
}

/** Returns the documentation of the answers of a health check. An answer with status 503 lists the faults. */
function checkAnswers(json: object) {
  const answer = "The server is healthy.";
  const content = { "application/json": { schema: unhealthySchema } };
  const down = { description: "The server is unhealthy.", content };
  return { answer, documented: { response: { ...answered(answer, { json }), "503": down } } };
}

/** Returns the health of the engines, or of the database or the server if these are not ready. */
export function healthOf({ engineHealth, databaseFault, isDraining }: HttpDependencies): Health {
  const health = engineHealth();
  if (isDraining()) return { ...health, state: "draining", reason: "The server is stopping." };
  const fault = databaseFault();
  if (fault === null || health.state !== "ready") return health;
  return { ...health, state: "waiting", reason: `The database cannot be reached: ${fault}` };
}

/** Checks each part of the server. Returns `ok` or a description of the fault, by part. */
export async function checkParts(dependencies: HttpDependencies): Promise<Readonly<Record<string, string>>> {
  const { state, reason } = dependencies.engineHealth();
  return {
    api: dependencies.isDraining() ? "draining" : "ok",
    database: await outcomeOf(dependencies.checkDatabase),
    cpu_queue: await outcomeOf(dependencies.checkJobs),
    gpu_queue: state === "ready" ? "ok" : `${state}: ${reason}`,
    ...Object.fromEntries(
      await Promise.all(
        Object.entries(dependencies.checks).map(async ([name, check]) => [name, await outcomeOf(check)]),
      ),
    ),
  };
}

async function outcomeOf(check: () => Promise<void>): Promise<string> {
  try {
    await check();
    return "ok";
  } catch (error) {
    return error instanceof ServiceError ? error.message : "failed";
  }
}

/**
 * Returns the answer of a failed health check. It also contains the common error body with the faults, for clients that
 * read only that body.
 */
function failedCheck(request: FastifyRequest, reply: FastifyReply, parts: object, why: string): object {
  const { status, headers, body } = errorAnswer(
    new ServiceError({ code: "unavailable", message: why }),
    request.id,
  );
  reply.code(status).headers(headers);
  return { status: "unavailable", ...parts, ...body, error: { ...body.error, message: cut(why, 2000) } };
}
