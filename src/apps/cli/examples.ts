// Example command lines, for the help of each command and for the documentation. A test parses each example.
import type { Command } from "commander";

/** Example lines by command name; the text after ` # ` is a comment. */
export const examples: Readonly<Record<string, readonly string[]>> = {
  serve: ["hone serve --port 8080 --model ./SmolLM2-135M-Instruct.Q4_1.gguf", "hone serve --print-config"],
  chat: [
    'hone chat "What is the capital of France?"',
    "hone chat --model p/agent --temperature 0 # a conversation",
    'hone chat p/agent@3 p/agent@5 "What is the capital of France?" # side by side',
  ],
  "models list": ["hone models", "hone models list --json"],
  "models create": [
    "hone models create p/agent --base-model hone-tiny",
    "hone models create p fork --from p/agent:step3",
  ],
  "models delete": ["hone models delete p/agent:step2"],
  "models add": ["hone models add HuggingFaceTB/SmolLM2-135M-Instruct"],
  "models added": ["hone models added"],
  "models remove": ["hone models remove SmolLM2-135M-Instruct"],
  "models load": ["hone models load SmolLM2-135M-Instruct"],
  "models unload": ["hone models unload SmolLM2-135M-Instruct"],
  "models fit": ["hone models fit", "hone models fit Qwen/Qwen3-1.7B --context 8192"],
  "models check": [
    "hone models check ./SmolLM2-135M-Instruct.Q4_1.gguf",
    "hone models check SmolLM2-135M-Instruct --quantize 8",
  ],
  "models versions": ["hone models versions p/agent"],
  "models accept-base": ["hone models accept-base p/agent"],
  "models pin": ["hone models pin p/agent:step3"],
  "models unpin": ["hone models unpin p/agent:step3"],
  "models export": [
    "hone models export p/agent:step3 --out ./agent-adapter",
    "hone models export p/agent --format merged --out ./agent-model",
    "hone models export p/agent --format gguf --quantize q8_0 --out ./agent-gguf",
  ],
  "models import": ["hone models import ./agent-adapter --name p/agent --base-model hone-tiny"],
  "models trajectories": [
    "hone models trajectories p/agent --reward-min 0.5 > good.jsonl",
    "hone models trajectories p/agent:step3 --format parquet --out agent.parquet",
  ],
  "models move": [
    "hone models move p/agent --to http://trainer-host:8000 --dry-run",
    "hone models move p/agent:step3 --merged ./agent-base",
  ],
  "jobs list": ["hone jobs", "hone jobs list --state failed --select id,model,error_message"],
  "jobs show": ["hone jobs show p/agent # its newest job", "hone jobs show 2f1c6f5e-8a51"],
  "jobs sft": ["hone jobs sft p/agent conversations.jsonl --epochs 3 --watch"],
  "jobs preference": [
    "hone jobs preference p/agent pairs.jsonl --loss dpo --beta 0.1 --watch",
    "hone jobs preference p/agent --reactions 👍=1,👎=0 --corrections --dry-run",
  ],
  "jobs watch": ["hone jobs watch p/agent"],
  "jobs cancel": ["hone jobs cancel 2f1c6f5e-8a51-4a8e-9e57-0c1a7b3f9d10"],
  "jobs retry": ["hone jobs retry 2f1c6f5e-8a51-4a8e-9e57-0c1a7b3f9d10"],
  "jobs replay": ["hone jobs replay 2f1c6f5e-8a51-4a8e-9e57-0c1a7b3f9d10"],
  start: ["hone start claude", 'hone start codex --model p/agent -- exec "Fix the failing test."'],
  mcp: ["hone mcp", "hone mcp --data /srv/hone/.hone --read-only"],
  "rollout run": [
    'hone rollout run --model p/agent --group fix-1 --reward-command ./check.sh -- claude -p "Fix the test."',
    "hone rollout run --model p/agent --reward-file reward.json -- node agent.js",
  ],
  "learning on": [
    "hone learning on p/agent --signals-min 8 --learning-rate 0.0005",
    'hone learning on p/agent --next-messages --judge hone-tiny --rubric "Short and correct."',
  ],
  "learning off": ["hone learning off p/agent"],
  "learning show": ["hone learning show p/agent"],
  "learning list": ["hone learning list p/agent", "hone learning list p/agent --json"],
  "rollout list": ["hone rollout list p/agent", "hone rollout list p/agent --json"],
  "retention show": ["hone retention", "hone retention show --entity acme --json"],
  "retention sweep": ["hone retention sweep --dry-run"],
  "traces dataset": [
    "hone traces dataset games --dry-run",
    "hone traces dataset games --kind preference --score quality --out pairs.jsonl",
  ],
  "rules list": ["hone rules", "hone rules list --project p --json"],
  "rules add": [
    "hone rules add p/thumbs --reactions 👍=1,👎=0",
    "hone rules add p stars --number score:stars:1..5 --train p/agent --groups-min 16",
  ],
  "rules show": ["hone rules show p/thumbs"],
  "rules pause": ["hone rules pause p/thumbs"],
  "rules resume": ["hone rules resume p/thumbs"],
  "rules delete": ["hone rules delete p/thumbs"],
  "rules preview": ["hone rules preview p/agent --rule p/thumbs", "hone rules preview p/agent --preferences"],
  "rules train": ["hone rules train p/agent --rule p/thumbs --learning-rate 0.0001"],
  "completions list": [
    "hone completions",
    "hone completions list --model p/agent:step3 --feedback any --json",
    'hone completions list --text "refund order"',
  ],
  "completions show": ["hone completions show 2f1c6f5e-8a51-4a8e-9e57-0c1a7b3f9d10"],
  "completions delete": ["hone completions delete 2f1c6f5e-8a51-4a8e-9e57-0c1a7b3f9d10"],
  "queues list": ["hone queues list games", "hone queues list local/games --json"],
  "queues create": [
    'hone queues create games/tone --question "tone=kind|neutral|rude: How does it sound?" --annotators 2',
    'hone queues create games/right --question right=yes-no --question "remark=text?"',
  ],
  "queues add": [
    "hone queues add games/tone 0192d3a4 chatcmpl-0192d3a5",
    "hone queues add games/tone --model games/agent@3 --since 2026-11-26T12:00:00Z",
    "hone queues add games/tone --feedback @thumbs-down.json",
  ],
  "queues stats": ["hone queues stats games/tone"],
  "queues delete": ["hone queues delete games/tone"],
  annotate: ["hone annotate games/tone", "hone annotate games/tone --as ann --json"],
  "feedback list": [
    "hone feedback list team/games",
    "hone feedback list team/games --type vendor.note.1 --since 2026-11-26",
  ],
  "feedback query": [
    `hone feedback query team/games --query '{"$lt": [{"$getField": "payload.stars"}, {"$literal": 3}]}' --sort payload.stars --fields id payload.stars creator`,
    "hone feedback query team/games --on 0192d3a4-aa11-7abc-8def-0123456789ab --count",
  ],
  "feedback add": [
    "hone feedback add team/games 0192d3a4-aa11-7abc-8def-0123456789ab --emoji 👍 --creator Ann",
    `hone feedback add team/games weave:///team/games/op/answer:v2 --type rating --payload '{"stars": 4}'`,
  ],
  "feedback export": [
    "hone feedback export team/games --out feedback.jsonl",
    "hone feedback export team/games --type rating --format csv --fields id created_at payload.stars --out ratings.csv",
  ],
  "feedback stats": ["hone feedback stats team/games --since 2026-11-01"],
  "webhooks list": ["hone webhooks"],
  "webhooks add": [
    "hone webhooks add https://hooks.example.com/hone --events feedback.created training_ended",
  ],
  "webhooks enable": ["hone webhooks enable hooks.example.com"],
  "webhooks deliveries": ["hone webhooks deliveries 01a21642-a49f-7969-8bb1-aed0f3ae7b22 --state failed"],
  "webhooks replay": [
    "hone webhooks replay 01a21642-a49f-7969-8bb1-aed0f3ae7b22 msg_2f1c6f5e-8a51-4a8e-9e57-0c1a7b3f9d10",
    "hone webhooks replay 01a21642-a49f-7969-8bb1-aed0f3ae7b22 --failed-since 2026-11-26",
  ],
  "webhooks delete": ["hone webhooks delete 01a21642-a49f-7969-8bb1-aed0f3ae7b22"],
  "keys create": [
    "hone keys create --owner ann --role member",
    "hone keys create --name evaluation --scopes chat read --project games --expires 30d",
    "hone keys create --entity acme --requests-per-minute 60 --tokens-per-minute 100000",
  ],
  "keys change": ["hone keys change 2f1c6f5e-8a51-4a8e-9e57-0c1a7b3f9d10 --expires 2027-01-31 --scopes none"],
  "keys limit": ["hone keys limit acme --tokens-per-minute 1000000 --concurrent-requests 16"],
  "keys rotate": ["hone keys rotate 2f1c6f5e-8a51-4a8e-9e57-0c1a7b3f9d10 --grace 12h"],
  usage: ["hone usage", "hone usage --from 2026-11-01 --model acme/p/agent"],
  "keys list": ["hone keys"],
  "keys revoke": ["hone keys revoke evaluation"],
  backup: ["hone backup /backups/2026-11-26", "hone backup /backups/2026-11-26 --data /srv/hone --json"],
  restore: [
    "hone restore /backups/2026-11-26 --data ./restored",
    "hone restore /backups/2026-11-26 --data ./restored --database-url postgres://hone@db.example/hone",
  ],
  verify: [
    "hone verify /backups/2026-11-26",
    "hone verify --json # the server's own database and data folder",
  ],
  export: ["hone export ./moving"],
  import: ["hone import ./moving --database-url postgres://hone@db.example/hone"],
  migrate: ["hone migrate", "hone migrate --check"],
  "schemas check": [
    "hone schemas check answer.schema.json --instance answer.json",
    "hone schemas check --jsonl schemas.jsonl",
  ],
  demo: ["hone demo", "hone demo --model SmolLM2-135M-Instruct --task sentiment"],
  init: ["hone init my-task"],
  doctor: ["hone doctor", "hone doctor --port 8080 --model ./SmolLM2-135M-Instruct.Q4_1.gguf"],
  logs: ["hone logs", "hone logs --follow --level warn", "hone logs --lines 1000 --json"],
  top: ["hone top", "hone top --once --json"],
  open: ["hone open", "hone open jobs", "hone open p/agent"],
  completion: [
    `echo 'eval "$(hone completion bash)"' >> ~/.bashrc`,
    `echo 'eval "$(hone completion zsh)"' >> ~/.zshrc # after the line that runs compinit`,
    "hone completion fish > ~/.config/fish/completions/hone.fish",
  ],
};

/** Adds the examples to each command's help. */
export function addExamples(program: Command): void {
  for (const [words, command] of commandsOf(program)) {
    const lines = examples[words] ?? [];
    if (lines.length > 0)
      command.addHelpText("after", `\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}`);
  }
}

/** Returns all commands, each with its words after `hone`, such as `models list`. Command groups are left out. */
export function commandsOf(parent: Command, before: readonly string[] = []): readonly [string, Command][] {
  return parent.commands.flatMap((command): readonly [string, Command][] => {
    const words = [...before, command.name()];
    return command.commands.length > 0 ? commandsOf(command, words) : [[words.join(" "), command]];
  });
}
