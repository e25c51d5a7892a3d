// Exports of `hone-server/client`: the client, its error, and the API's types.
export type * from "./api.ts";
export { Hone } from "./hone.ts";
export { HoneError, type Fault } from "./hone-error.ts";
export { Model, type ModelOptions } from "./trained-model.ts";
export { Pages } from "./pages.ts";
export type { ConnectionOptions as HoneOptions, RequestOptions } from "./connection.ts";
export type { CallOptions, Route } from "./calls/calls.ts";
export type { CreateJobOptions } from "./calls/training/job-calls.ts";
export type { FollowOptions, WatchOptions } from "./calls/training/follow-job.ts";
export type { TrajectoryFilter } from "./calls/trajectory-calls.ts";
export type { Upload } from "./upload.ts";
export { train, type TrainResult } from "./training/train.ts";
export type {
  RequestDefaults,
  RolloutFunction,
  RolloutResult,
  TrainingConfig,
  TrainOptions,
  ValidationOptions,
} from "./training/train-options.ts";
export type { RoundReport, Validation } from "./training/round-report.ts";
export type { TrainEvent } from "./training/train-event.ts";
export type { Tasks } from "./training/task-order.ts";
export type { Failure, Group, Judge, JudgeContext, Rollout } from "./training/groups.ts";
export { judge, type JudgeOptions } from "./judging/judge.ts";
export {
  openEnv,
  type EnvironmentSchemas,
  type OpenEnv,
  type OpenEnvOptions,
} from "./environments/open-env.ts";
export type { EnvironmentStep } from "./environments/messages.ts";
export type { Socket, SocketEvent, WebSocketClass } from "./platform.ts";
export { startTrajectory, type StartTrajectoryOptions } from "./recording/start-trajectory.ts";
export type { RecordedHistory, RecordedTrajectory } from "./recording/recorded-trajectory.ts";
export type { AgentsModel } from "./recording/libraries.ts";
export type { Fetch } from "./recording/trajectory-fetch.ts";
export { mcpTools, type McpToolsOptions } from "./tools/mcp-tools.ts";
export type { McpAddress, McpClient, McpCommand, McpSource, McpTool } from "./tools/mcp-client.ts";
export {
  toolRollout,
  type CalledTool,
  type ToolAttempt,
  type ToolRolloutOptions,
} from "./tools/tool-rollout.ts";
export type { ToolCallOptions, ToolResult, ToolSet } from "./tools/tool-set.ts";
