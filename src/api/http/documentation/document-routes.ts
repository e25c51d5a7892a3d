// API documentation: /openapi.json, made from the routes' schemas, and the page /docs for browsers, which needs no
// external assets.
import { fastifySwagger } from "@fastify/swagger";
import { fastifySwaggerUi } from "@fastify/swagger-ui";
import type { FastifyInstance } from "fastify";
import { errorSchema } from "../../wire/error.ts";

/** Schemas of a route's answer: JSON, the events of a stream, text of another type, a file, or bytes. */
export interface AnswerSchemas {
  readonly json?: object;
  /** Schema of each event's data. */
  readonly events?: object;
  readonly text?: object;
  readonly tar?: object;
  readonly bytes?: object;
  readonly lines?: object;
  readonly csv?: object;
  readonly parquet?: object;
}

const mediaTypes = {
  json: "application/json",
  events: "text/event-stream",
  text: "text/plain",
  tar: "application/x-tar",
  bytes: "application/octet-stream",
  lines: "application/jsonl",
  csv: "text/csv",
  parquet: "application/vnd.apache.parquet",
} as const;

/** Returns the `response` part of a route's schema: the answer and the common error body. */
export function answered(description: string, schemas: AnswerSchemas): object {
  const content = Object.fromEntries(
    Object.entries(mediaTypes).flatMap(([kind, type]) => {
      // Safe cast: the record has the keys of the interface.
      const schema = schemas[kind as keyof AnswerSchemas];
      return schema === undefined ? [] : [[type, { schema }]];
    }),
  );
  return { "2xx": { description, content }, "4xx": errorSchema, "5xx": errorSchema };
}

/** Registers the documentation; must be called before the routes that it describes are added. */
export async function documentRoutes(app: FastifyInstance, version: string): Promise<void> {
  await app.register(fastifySwagger, {
    // OpenAPI cannot express a wildcard path. The only route with one takes a model name, which may be
    // percent-encoded.
    transform: ({ schema, url }) => ({ schema, url: url.replace("/*", "/:model") }),
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Hone",
        description: "Serves a language model, logs trajectories, keeps feedback, and trains.",
        version,
      },
      components: {
        securitySchemes: {
          bearer: { type: "http", scheme: "bearer" },
          basic: { type: "http", scheme: "basic" },
        },
      },
    },
  });
  app.addHook("onRequest", async (request, reply) => {
    // Swagger UI's own redirect would loop if the URL has a query.
    if (request.url.startsWith("/docs/static/index.html?")) await reply.redirect("/docs/");
  });
  await app.register(fastifySwaggerUi, {
    routePrefix: "/docs",
    staticCSP: true,
    // By default, the page calls a validator on the internet.
    uiConfig: { validatorUrl: null, showExtensions: true, showCommonExtensions: true },
  });
  app.get("/openapi.json", { schema: { hide: true } }, () => app.swagger());
}
