// API documentation: /openapi.json, generated from the routes' schemas, and the page /docs for browsers, which loads
// nothing from other servers.
import { fastifySwagger } from "@fastify/swagger";
import { fastifySwaggerUi } from "@fastify/swagger-ui";
import type { FastifyInstance } from "fastify";
import { errorSchema } from "../../wire/error.ts";

/** Script that gives Swagger UI the theme that the user has chosen in the dashboard, or else the system's. */
const themeScript = `
const chosen = localStorage.getItem("hone-theme");
const isDark = chosen === null ? matchMedia("(prefers-color-scheme: dark)").matches : chosen === "dark";
document.documentElement.classList.toggle("dark-mode", isDark);
`;

/** Schemas of a route's answer, by media type: JSON, an event stream, text, a tar archive, and so on. */
export interface AnswerSchemas {
  readonly json?: object;
  /** Schema of the data of each event in the stream. */
  readonly events?: object;
  readonly text?: object;
  readonly tar?: object;
  readonly bytes?: object;
  readonly protobuf?: object;
  readonly lines?: object;
  /** Schema of each line of a streamed answer. */
  readonly ndjson?: object;
  readonly csv?: object;
  readonly parquet?: object;
}

const mediaTypes = {
  json: "application/json",
  events: "text/event-stream",
  text: "text/plain",
  tar: "application/x-tar",
  bytes: "application/octet-stream",
  protobuf: "application/x-protobuf",
  lines: "application/jsonl",
  ndjson: "application/x-ndjson",
  csv: "text/csv",
  parquet: "application/vnd.apache.parquet",
} as const;

/** Returns the `response` part of a route's schema. It documents the answer and the common error body. */
export function answered(description: string, schemas: AnswerSchemas): object {
  const content = Object.fromEntries(
    Object.entries(mediaTypes).flatMap(([kind, type]) => {
      // Safe cast: the keys of the record are those of the interface.
      const schema = schemas[kind as keyof AnswerSchemas];
      return schema === undefined ? [] : [[type, { schema }]];
    }),
  );
  return { "2xx": { description, content }, "4xx": errorSchema, "5xx": errorSchema };
}

/** Registers the documentation. Must be called before the documented routes are added. */
export async function documentRoutes(app: FastifyInstance, version: string): Promise<void> {
  await app.register(fastifySwagger, {
    // OpenAPI cannot express a wildcard path. The only route with a wildcard takes a model name there, which may also
    // be percent-encoded.
    transform: ({ schema, url }) => ({ schema, url: url.replace("/*", "/:model") }),
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Hone",
        description:
          "Serves a language model, records its answers, stores feedback on them, and trains the model.",
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
    // Swagger UI would redirect this URL to itself if it has a query, so this handler redirects it first.
    if (request.url.startsWith("/docs/static/index.html?")) await reply.redirect("/docs/");
  });
  await app.register(fastifySwaggerUi, {
    routePrefix: "/docs",
    staticCSP: true,
    theme: { js: [{ filename: "theme.js", content: themeScript }] },
    // Disables the validator, a service on the internet that the page calls by default.
    uiConfig: { validatorUrl: null, showExtensions: true, showCommonExtensions: true },
  });
  app.get("/openapi.json", { schema: { hide: true } }, () => app.swagger());
}
