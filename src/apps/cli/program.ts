// Defines all commands. Each has its own file, and uses the client or the server's code. A command loads server code
// only when it runs, so commands that only call a server start fast.
import { Command } from "commander";
import type { SettingsOverrides } from "../server/settings.ts";
import { addAnnotateCommand } from "./annotate/annotate-command.ts";
import { addQueuesCommand } from "./annotate/queues-command.ts";
import { addBackupCommands } from "./backup/backup-commands.ts";
import { addExportCommands } from "./backup/export-commands.ts";
import { addChatCommand } from "./commands/chat.ts";
import { addCompletionCommands } from "./completion/completion-command.ts";
import { addDemoCommand } from "./commands/demo.ts";
import { addDoctorCommand } from "./doctor/doctor-command.ts";
import { addInitCommand } from "./commands/init.ts";
import { addJobsCommand } from "./commands/jobs.ts";
import { addKeysCommand } from "./keys/keys-command.ts";
import { addUsageCommand } from "./keys/usage-command.ts";
import { addModelsCommand } from "./commands/models.ts";
import { addLogsCommand } from "./logs/logs-command.ts";
import { addMcpCommand } from "./mcp/mcp-command.ts";
import { addOpenCommand } from "./commands/open.ts";
import { addSchemasCommand } from "./commands/schemas.ts";
import { addServeCommand } from "./commands/serve.ts";
import { addExamples } from "./examples.ts";
import { addSelectFlags } from "./json-output.ts";
import { addRetentionCommand } from "./retention/retention-command.ts";
import { addLearningCommand } from "./learning/learning-command.ts";
import { addRolloutCommand } from "./rollouts/rollout-command.ts";
import { addRulesCommand } from "./rules/rules-command.ts";
import { addRecordingCommands } from "./recordings/recording-commands.ts";
import { addStartCommand } from "./start/start-command.ts";
import { addTracesCommand } from "./traces/traces-command.ts";
import { addTopCommand } from "./top/top-command.ts";
import { addFeedbackCommand } from "./feedback/feedback-command.ts";
import { refuseUnknownSubcommands } from "./unknown-command.ts";
import { addWebhooksCommand } from "./webhooks/webhooks-command.ts";

/**
 * Creates the `hone` program with all its commands.
 *
 * @param limits overrides of a server's limits, as in `main`
 */
export function createProgram(limits: SettingsOverrides = {}): Command {
  const program = new Command("hone")
    .description("Serve a language model, record what it says, judge it, and train it to do better.")
    .option("--version", "print the version")
    .showHelpAfterError("(run with --help for usage)");
  addServeCommand(program, limits);
  addChatCommand(program);
  addModelsCommand(program);
  addJobsCommand(program);
  addRolloutCommand(program);
  addRulesCommand(program);
  addLearningCommand(program);
  addRecordingCommands(program);
  addQueuesCommand(program);
  addAnnotateCommand(program);
  addFeedbackCommand(program);
  addTracesCommand(program);
  addWebhooksCommand(program);
  addKeysCommand(program);
  addUsageCommand(program);
  addRetentionCommand(program);
  addBackupCommands(program);
  addExportCommands(program);
  addSchemasCommand(program, limits);
  addDemoCommand(program);
  addInitCommand(program);
  addDoctorCommand(program);
  addTopCommand(program);
  addLogsCommand(program);
  addOpenCommand(program);
  addStartCommand(program);
  addMcpCommand(program);
  addCompletionCommands(program);
  addSelectFlags(program);
  refuseUnknownSubcommands(program);
  addExamples(program);
  return program;
}
