// Whether the server is up and can work, which version it is, and its metrics; all without credentials.
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
import { errorAnswer } from "../errors.ts";
import type { InFlight } from "../in-flight.ts";

interface Health {
  readonly state: string;
  /** Why the state is not `ready`, for people. */
  readonly reason: string;
  readonly models: EngineHealth["models"];
}

export function healthRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  inFlight: Pick<InFlight, "total">,
): void {
  const answerHealth = (request: FastifyRequest, reply: FastifyReply): object => {
    const { state, reason, models } = healthOf(dependencies);
    const isWell = state === "ready";
    const why = `The server is ${state}${reason === "" ? "" : `: ${reason}`}`;
    return isWell
      ? { status: "ok", state, reason, models }
      : unwell(request, reply, { state, reason, models }, why);
  };
  for (const url of ["/health", "/v1/health", "/ping"]) {
    app.get(url, { schema: documentation("Say whether the server can serve", healthSchema) }, answerHealth);
  }
  app.get(
    "/v1/system-check",
    { schema: documentation("Say how each part of the server is", systemCheckSchema) },
    async (request, reply) => {
      const parts = await checkParts(dependencies);
      const faults = Object.entries(parts).filter(([, part]) => part !== "ok");
      const told = { ...parts, note: dependencies.databaseNote() ?? "" };
      if (faults.length === 0) return { status: "ok", ...told };
      return unwell(request, reply, told, faults.map(([name, fault]) => `${name}: ${fault}`).join(" "));
    },
  );
  app.get(
    "/version",
    {
      schema: {
        summary: "Say the server's version",
        tags: ["health"],
        response: answered("As packages are numbered.", { json: versionSchema }),
      },
    },
    () => ({ version: dependencies.version }),
  );
  app.get(
    "/load",
    {
      schema: {
        summary: "Say how much the server has to do",
        tags: ["health"],
        response: answered("As vLLM says it.", { json: loadSchema }),
      },
    },
    () => ({ server_load: inFlight.total() }),
  );
  app.get(
    "/metrics",
    {
      schema: {
        summary: "Show the metrics",
        tags: ["health"],
        response: answered("In Prometheus' text form.", { text: { type: "string" } }),
      },
    },
    async (_request, reply) => {
      const { text, contentType } = await dependencies.metrics.expose();
      return reply.header("content-type", contentType).send(text);
    },
  );
}

function documentation(summary: string, schema: object): object {
  const down = {
    description: "It is not well.",
    content: { "application/json": { schema: unhealthySchema } },
  };
  return {
    summary,
    tags: ["health"],
    response: { ...answered("It is well.", { json: schema }), "503": down },
  };
}

function healthOf({ engineHealth, databaseFault, isDraining }: HttpDependencies): Health {
  const health = engineHealth();
  if (isDraining()) return { ...health, state: "draining", reason: "The server is stopping." };
  const fault = databaseFault();
  if (fault === null || health.state !== "ready") return health;
  return { ...health, state: "waiting", reason: `The database cannot be reached: ${fault}` };
}

async function checkParts(dependencies: HttpDependencies): Promise<Readonly<Record<string, string>>> {
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

/** A failing check has the error body too, for clients that read nothing else; it says what the check found. */
function unwell(request: FastifyRequest, reply: FastifyReply, parts: object, why: string): object {
  const { status, headers, body } = errorAnswer(
    new ServiceError({ code: "unavailable", message: why }),
    request.id,
  );
  reply.code(status).headers(headers);
  return { status: "unavailable", ...parts, ...body, error: { ...body.error, message: cut(why, 2000) } };
}
