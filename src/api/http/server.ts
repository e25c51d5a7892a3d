// The HTTP server: one Fastify instance with all routes, built from injected dependencies. Its caller starts it with
// `listen` and stops it with `close`.
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Caller } from "../../base/domain/access.ts";
import { FailedLogins } from "./credentials/failed-logins.ts";
import { RefusalAudit } from "./credentials/refusal-audit.ts";
import { RevocationWatch } from "./credentials/authentication.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { allowOrigins, corsRules, markAnswer } from "./cors/cors.ts";
import { documentRoutes } from "./documentation/document-routes.ts";
import { errorAnswerFor, isAnthropics } from "./anthropic/dialect.ts";
import { failureFields } from "./errors.ts";
import { codeOf, translateError, logBrokenOff } from "./framework-errors.ts";
import { InFlight } from "./limits/admission.ts";
import { compressAnswers } from "./bodies/compress-answers.ts";
import { BodyReader, leaveBodiesUnasked } from "./bodies/body-reader.ts";
import { ByteBudget } from "./bodies/gather-body.ts";
import { jsonType, protobufType, takeBodies } from "./bodies/take-bodies.ts";
import { beginInTurn, idFor } from "./request-lifecycle.ts";
import { countPages, readBudget } from "./memory-budget/stored-reads.ts";
import { lingerBeforeClose } from "./bodies/linger.ts";
import { breakOffOnClose, guard, guardOperatorRoutes } from "./request-scope.ts";
import { limitExposure } from "./cors/exposure.ts";
import { answerUnroutedRequests, trackAnswers, refuseConnection } from "./refuse-connection.ts";
import { Connections } from "./connections.ts";
import { measureRequests } from "./measures/request-metrics.ts";
import { traceRequests } from "./measures/request-trace.ts";
import { sentError } from "./ollama/dialect.ts";
import { ollamaRoutes } from "./ollama/ollama-routes.ts";
import { DownloadLinks } from "./tinker/download-links.ts";
import { linkedFileRoute } from "./tinker/download-routes.ts";
import { tinkerRoutes } from "./tinker/tinker-routes.ts";
import { RouteTable } from "./route-table.ts";
import { addAnsweringRoute, chatCompletionRoute } from "./routes/answer-chat.ts";
import { itemRoutes } from "./routes/annotation/items.ts";
import { queueRoutes } from "./routes/annotation/queues.ts";
import { checkpointRoutes } from "./routes/checkpoints/checkpoints.ts";
import { checkpointExportRoute } from "./routes/checkpoints/export.ts";
import { checkpointImportRoute } from "./routes/checkpoints/import.ts";
import { completionRoute } from "./routes/completions.ts";
import { embeddingRoute } from "./routes/texts/embeddings.ts";
import { feedbackRoutes } from "./routes/feedback.ts";
import { feedbackExportRoutes } from "./routes/feedback/feedback-export.ts";
import { pageRoutes } from "./sites/page-routes.ts";
import { guideRoutes } from "./sites/guide-routes.ts";
import { entityLimitRoutes } from "./routes/keys/entity-limits.ts";
import { keyRoutes } from "./routes/keys/keys.ts";
import { logRoutes } from "./routes/logs/logs.ts";
import { ownKeyRoute } from "./routes/keys/own-key.ts";
import { usageRoutes } from "./routes/keys/usage.ts";
import { retentionRoutes } from "./routes/retention/retention.ts";
import { promptTransferRoute } from "./routes/prompt-transfers.ts";
import { tracedDatasetRoute } from "./traces/dataset-route.ts";
import { exportRoutes } from "./traces/export-routes.ts";
import { langfuseRoutes } from "./traces/langfuse-routes.ts";
import { callRoutes } from "./weave/call-routes.ts";
import { tracedFileRoutes } from "./weave/file-routes.ts";
import { clientSetupRoutes, traceDeletionRoute } from "./weave/client-setup-routes.ts";
import { objectRoutes } from "./weave/object-routes.ts";
import { tableRoutes } from "./weave/table-routes.ts";
import { messageRoute, tokenCountRoute } from "./anthropic/message-routes.ts";
import { responseRoute } from "./routes/responses.ts";
import { fileRoutes } from "./routes/supervised/files.ts";
import { uploadPartRoute, uploadRoutes } from "./routes/supervised/uploads.ts";
import { fineTuningJobRoutes } from "./routes/fine-tuning/fine-tuning-jobs.ts";
import { fineTuningControlRoutes } from "./routes/fine-tuning/control-jobs.ts";
import { graderRoutes } from "./routes/fine-tuning/graders.ts";
import { fineTuningEventRoutes } from "./routes/fine-tuning/job-events.ts";
import { healthRoutes } from "./routes/health.ts";
import { modelRoutes } from "./routes/models.ts";
import { baseMemoryRoutes } from "./routes/models/base-memory.ts";
import { modelDeletionRoute, servedModelRoutes } from "./routes/served-models.ts";
import { supervisedJobRoutes } from "./routes/supervised/supervised-jobs.ts";
import { summaryRoutes } from "./routes/summary/summary.ts";
import { structuredOutputRoutes } from "./routes/structured-outputs.ts";
import { tokenizationRoutes } from "./routes/texts/tokenization.ts";
import { feedbackJobRoutes } from "./routes/rewards/feedback-jobs.ts";
import { learningRoutes } from "./routes/learning/learning.ts";
import { rewardRuleRoutes } from "./routes/rewards/reward-rules.ts";
import { trainingJobRoutes } from "./routes/training-jobs.ts";
import { rolloutCallRoutes } from "./routes/rollouts/rollout-calls.ts";
import { rolloutRoutes } from "./routes/rollouts/rollouts.ts";
import { trajectoryRowRoutes } from "./routes/trajectories/rows.ts";
import { recordingRoutes } from "./routes/recordings/recordings.ts";
import { trajectoryRoutes } from "./routes/trajectories.ts";
import { webhookRoutes } from "./routes/webhooks/webhooks.ts";

/**
 * Builds the server with all its routes. `close` interrupts running requests, so the caller should drain the server
 * first.
 *
 * @param routesOf `chats` adds only the chat route, for a server that must be built fast: documenting all routes takes
 * long
 * @returns an instance that is ready for `inject` and `listen`
 */
export async function createHttpServer(
  dependencies: HttpDependencies,
  routesOf: "all" | "chats" = "all",
): Promise<FastifyInstance> {
  const { settings, metrics, logger, clock, audit } = dependencies;
  const cors = corsRules(settings.corsOrigins);
  const app = fastify({
    logger: false,
    genReqId: ({ headers }) => idFor(headers),
    bodyLimit: settings.otherBodyBytes,
    routerOptions: { maxParamLength: 1000 },
    // While the server closes, it answers requests with its own 503 instead of Fastify's. It closes connections by
    // force, because a request that `preClose` has not ended would never end.
    return503OnClosing: false,
    forceCloseConnections: true,
    requestTimeout: settings.requestSeconds * 1000,
    http: {
      headersTimeout: Math.min(20, settings.requestSeconds) * 1000,
      // Interval in milliseconds at which Node looks for slow requests. A request may exceed its time limit by this
      // much.
      connectionsCheckingInterval: Math.min(5, settings.requestSeconds / 4) * 1000,
      // Node would refuse a missing Host header without a body; a hook refuses it with the common error body instead.
      requireHostHeader: false,
    },
    frameworkErrors: (error, request, reply) => {
      markAnswer(request, reply, cors);
      answerError(error, request, reply, dependencies);
    },
    clientErrorHandler: refuseConnection,
  });
  trackAnswers(app.server);
  answerUnroutedRequests(app);
  leaveBodiesUnasked(app);
  // Node's limit on the number of headers is off, because Node would silently drop further headers. Node limits the
  // total size of the headers, and a hook refuses too many of them.
  app.server.maxHeadersCount = 0;
  const connections = new Connections(settings.connections, metrics);
  connections.watch(app.server);
  const routes = new RouteTable();
  const inFlight = new InFlight(settings.requestsPerKey);
  const failedLogins = new FailedLogins({ clock, audit, metrics }, settings.failedLoginsPerMinute);
  const refusals = new RefusalAudit(audit, clock, settings.failedLoginsPerMinute);
  const counts = { inFlight, failedLogins, connections };
  app.decorateRequest("caller", null as unknown as Caller);
  app.decorateRequest("allowance", null);
  app.decorateRequest("model", null);
  app.decorateRequest("completions", null);
  app.decorate("revocations", new RevocationWatch(dependencies, clock));
  beginInTurn(app, connections);
  breakOffOnClose(app, clock, inFlight);
  traceRequests(app, { tracing: dependencies.tracing ?? null, clock });
  // This hook must come before the one that delays answers until their audit line is on disk, because a stream may fail
  // during the delay.
  logBrokenOff(app, logger);
  measureRequests(app, { metrics, logger, clock, inFlight, audit, refusals });
  compressAnswers(app);
  app.addHook("onRequest", async (request, reply) => {
    reply.header("x-request-id", request.id);
    if (isAnthropics(request)) reply.header("request-id", request.id);
  });
  allowOrigins(app, cors);
  limitExposure(app, dependencies.auth, cors);
  app.addHook("onRequest", async (request) => {
    // If no route matches a request, it is refused here, before its body is read.
    if (request.is404) throw routes.refusal(request.method, pathOf(request.url));
  });
  app.setErrorHandler((error, request, reply) => {
    // Fastify throws this code for a method that it does not know. `answerError` translates its other codes.
    const isUnknownMethod = codeOf(error) === "FST_ERR_NOT_FOUND";
    const shown = isUnknownMethod ? routes.refusal(request.method, pathOf(request.url)) : error;
    answerError(shown, request, reply, dependencies);
  });
  app.setNotFoundHandler((request) => {
    throw routes.refusal(request.method, pathOf(request.url));
  });
  const bodies = new BodyReader(settings);
  app.addHook("onClose", async () => {
    refusals.close();
    await bodies.close();
  });
  const budget = new ByteBudget(settings.bodyBytesInFlight);
  const answering = { bodies, budget };
  metrics.gauge(
    { name: "hone_http_body_bytes", help: "Bytes of memory that request bodies and long answers take." },
    () => [{ value: budget.used }],
  );
  const reads = readBudget(settings, metrics);
  takeBodies(app, settings, budget, [jsonType]);
  // The schemas are only documentation. Readers in `wire` check bodies, and answers are serialized without a schema.
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
  guardOperatorRoutes(app, dependencies, counts);
  routes.watch(app);
  if (routesOf === "chats") {
    await app.register(async (scope) => {
      guard(scope, "Bearer", dependencies, counts);
      addAnsweringRoute(scope, dependencies, answering, chatCompletionRoute);
    });
    await app.ready();
    return app;
  }
  await documentRoutes(app, dependencies.version);
  healthRoutes(app, dependencies, inFlight);
  pageRoutes(app, dependencies);
  guideRoutes(app, dependencies);
  promptTransferRoute(app, dependencies, counts);
  const links = new DownloadLinks(dependencies.clock);
  linkedFileRoute(app, dependencies, links, counts);
  await app.register(async (scope) => {
    guard(scope, "Bearer", dependencies, counts);
    countPages(scope, reads);
    addAnsweringRoute(scope, dependencies, answering, chatCompletionRoute);
    tokenizationRoutes(scope, dependencies, bodies);
    addAnsweringRoute(scope, dependencies, answering, completionRoute);
    addAnsweringRoute(scope, dependencies, answering, responseRoute);
    addAnsweringRoute(scope, dependencies, answering, messageRoute);
    tokenCountRoute(scope, dependencies, bodies);
    embeddingRoute(scope, dependencies, answering);
    await scope.register(async (ollama) => {
      // Ollama ignores the content type of a body. The curl commands in its documentation therefore send a wrong one.
      takeBodies(ollama, settings, budget, ["*"]);
      ollamaRoutes(ollama, dependencies, answering);
    });
    structuredOutputRoutes(scope, dependencies, bodies);
    servedModelRoutes(scope, dependencies);
    baseMemoryRoutes(scope, dependencies);
    modelDeletionRoute(scope, dependencies);
    ownKeyRoute(scope);
    keyRoutes(scope, dependencies);
    entityLimitRoutes(scope, dependencies);
    usageRoutes(scope, dependencies);
    retentionRoutes(scope, dependencies);
    logRoutes(scope, dependencies);
    summaryRoutes(scope, dependencies);
    modelRoutes(scope, dependencies);
    checkpointRoutes(scope, dependencies);
    checkpointExportRoute(scope, dependencies);
    await checkpointImportRoute(scope, dependencies);
    trajectoryRoutes(scope, dependencies, bodies);
    trajectoryRowRoutes(scope, dependencies, reads);
    recordingRoutes(scope, dependencies);
    rolloutRoutes(scope, dependencies);
    await rolloutCallRoutes(scope, dependencies, answering);
    trainingJobRoutes(scope, dependencies, bodies);
    feedbackJobRoutes(scope, dependencies);
    rewardRuleRoutes(scope, dependencies);
    learningRoutes(scope, dependencies);
    supervisedJobRoutes(scope, dependencies, answering);
    fineTuningJobRoutes(scope, dependencies, answering);
    fineTuningEventRoutes(scope, dependencies);
    fineTuningControlRoutes(scope, dependencies);
    graderRoutes(scope, dependencies);
    traceDeletionRoute(scope, dependencies);
    tracedDatasetRoute(scope, dependencies);
    uploadRoutes(scope, dependencies, answering);
    await scope.register(async (forms) => {
      await fileRoutes(forms, dependencies, answering);
      uploadPartRoute(forms, dependencies);
    });
    webhookRoutes(scope, dependencies);
    await scope.register(async (tinker) => {
      takeBodies(tinker, settings, budget, [protobufType, jsonType]);
      tinkerRoutes(tinker, dependencies, links);
    });
  });
  await app.register(async (scope) => {
    guard(scope, "Basic", dependencies, counts);
    countPages(scope, reads);
    feedbackRoutes(scope, dependencies, bodies);
    feedbackExportRoutes(scope, dependencies, reads);
    queueRoutes(scope, dependencies);
    itemRoutes(scope, dependencies);
    clientSetupRoutes(scope, dependencies);
    objectRoutes(scope, dependencies, bodies);
    tableRoutes(scope, dependencies, bodies);
    callRoutes(scope, dependencies, bodies);
    await scope.register((forms) => tracedFileRoutes(forms, dependencies));
  });
  await app.register(async (scope) => {
    guard(scope, "either", dependencies, counts);
    langfuseRoutes(scope, dependencies);
    await scope.register(async (exports) => {
      takeBodies(exports, settings, budget, [jsonType, protobufType]);
      exportRoutes(exports, dependencies, bodies);
    });
  });
  await app.ready();
  return app;
}

function pathOf(url: string): string {
  return url.split("?", 1)[0] ?? url;
}

function answerError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { logger }: HttpDependencies,
): void {
  const answer = sentError(errorAnswerFor(translateError(error, request), request), request);
  if (answer.status >= 500) {
    const fields = { requestId: request.id, ...failureFields(error, answer) };
    if (answer.status === 500) logger.error(fields, "request failed");
    else if (reply.raw.destroyed) logger.debug(fields, "request cancelled: its client disconnected");
    else logger.warn(fields, "request refused");
  }
  // The server does not read the rest of the body, and a slow sender must not keep the connection open for long.
  if (!request.raw.complete) {
    reply.header("connection", "close");
    lingerBeforeClose(request.raw);
  }
  // A list that fails before its first byte was going to be compressed.
  reply.removeHeader("content-encoding").header("x-request-id", request.id);
  reply.code(answer.status).headers(answer.headers).send(answer.body);
}
