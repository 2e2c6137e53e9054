import type { Command } from 'commander';
import { seconds } from '../families/option-values.js';
import { checkFitness } from '../host/fitness.js';
import { probeNoise } from '../host/noise-probe.js';
import { packageLine, runContext } from '../host/provenance.js';
import { type DoctorFindings, renderDoctorTerminal } from '../report/doctor-report.js';
import { inventoryOf } from '../runner/inventory.js';
import { EXIT_FAILED, EXIT_OK } from './exit-code.js';
import { parserOf } from './matrix-options.js';
import { untilInterrupted } from './interrupt.js';
import { print, terminalOf } from './terminal.js';
import type { CliServices, Finish } from './services.js';
import { list, renderTerminal } from '../report/document.js';
import { hostLines } from '../report/host-block.js';

const PROBE_SECONDS = 10;

const HELP = `
Exit code: 0 if the machine is fit to measure on, 1 if it is not.`;

interface DoctorOptions {
  readonly probe: number;
  readonly json?: boolean;
}

export function addDoctorCommand(program: Command, services: CliServices, finish: Finish): void {
  program
    .command('doctor')
    .summary('say what can be measured here, what is missing, and whether this machine is quiet')
    .description(
      'Says which engines, servers, clients and runtimes are here, how to get those that are missing, and ' +
        'whether this machine is fit to measure on: load, governor, throttling, swap, memory, and a small loop ' +
        'timed against itself.',
    )
    .option('--probe <seconds>', 'time for the loop', parserOf(seconds.parse), PROBE_SECONDS)
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async ({ probe, json }: DoctorOptions) => {
      const build = await services.loadNativeBuild();
      const line = await packageLine(build);
      const { engines, clients, runtimes, missing } = inventoryOf(await services.loadFamilies());
      process.stderr.write(`Timing a small loop for ${probe} s\n`);
      const { result: machine, exitCode } = await untilInterrupted(
        (signal) => checkFitness({ probe: () => probeNoise(probe, signal) }),
        () => {},
      );
      if (machine === undefined) return finish(exitCode ?? EXIT_FAILED);
      const isFit = machine.every((check) => check.isFit);
      const here = { engines, clients, runtimes: [`node ${process.versions.node} (this one)`, ...runtimes] };
      const findings: DoctorFindings = { package: line, isFit, machine, here, missing };
      print(json, findings, () => renderDoctorTerminal(findings, terminalOf(process.stdout)));
      finish(isFit ? EXIT_OK : EXIT_FAILED);
    });
}

export function addHostCommand(program: Command, services: CliServices): void {
  program
    .command('host')
    .summary('show what a run says of this machine and build')
    .description('Shows the block that stands in every result file: the machine, its limits, and every version.')
    .option('--json', 'print JSON')
    .action(async ({ json }: { readonly json?: boolean }) => {
      const build = await services.loadNativeBuild();
      const context = await runContext({ startedAt: new Date(), config: {}, build });
      print(json, context, () => renderTerminal(list(hostLines(context))));
    });
}
