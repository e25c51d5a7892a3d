// Whether the server is up and can work, which version it is, and its metrics; all without credentials.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ServiceError } from "../../domain/service-error.ts";
import { healthSchema, systemCheckSchema, unhealthySchema, versionSchema } from "../../wire/health.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { answered } from "../documentation/document-routes.ts";
import { errorAnswer } from "../errors.ts";

interface Health {
  readonly state: string;
  /** Why the state is not `ready`, for people. */
  readonly reason: string;
}

export function healthRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const answerHealth = (request: FastifyRequest, reply: FastifyReply): object => {
    const { state, reason } = healthOf(dependencies);
    return answer(request, reply, state === "ready", { state, reason });
  };
  for (const url of ["/health", "/v1/health"]) {
    app.get(url, { schema: documentation("Say whether the server can serve", healthSchema) }, answerHealth);
  }
  app.get(
    "/v1/system-check",
    { schema: documentation("Say how each part of the server is", systemCheckSchema) },
    async (request, reply) => {
      const parts = await checkParts(dependencies);
      return answer(
        request,
        reply,
        Object.values(parts).every((part) => part === "ok"),
        parts,
      );
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

function healthOf({ engineHealth, isDraining }: HttpDependencies): Health {
  if (isDraining()) return { state: "draining", reason: "The server is stopping." };
  const { state, reason } = engineHealth();
  return { state, reason };
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

/** A failing check has the error body too, for clients that read nothing else. */
function answer(request: FastifyRequest, reply: FastifyReply, isWell: boolean, parts: object): object {
  if (isWell) return { status: "ok", ...parts };
  const unavailable = new ServiceError({ code: "unavailable", message: "not ready" });
  const { status, headers, body } = errorAnswer(unavailable, request.id);
  reply.code(status).headers(headers);
  return { status: "unavailable", ...parts, ...body };
}
