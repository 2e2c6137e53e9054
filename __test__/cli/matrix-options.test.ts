import { afterEach, expect, test } from 'vitest';
import { Command } from 'commander';
import { type MatrixOptions, addMatrixOptions, requestFrom } from '../../src/cli/matrix-options.js';
import { resumeRequest } from '../../src/runner/run-config.js';

const VARIABLES = ['HYBRID_SCALE', 'HYBRID_NET_DELAY_US', 'HYBRID_NET_BY'];

afterEach(() => {
  for (const name of VARIABLES) delete process.env[name];
});

function settingsOf(...words: string[]): unknown {
  const command = addMatrixOptions(new Command().exitOverride().configureOutput({ writeErr: () => {} }));
  return requestFrom(undefined, command.parse(words, { from: 'user' }).opts<MatrixOptions>()).settings;
}

test('the options of hybrid are settings of the run, and variables where no option is', () => {
  expect(settingsOf()).toEqual({});
  process.env['HYBRID_SCALE'] = '0.5';
  process.env['HYBRID_NET_DELAY_US'] = '100';
  expect(settingsOf('--net-delay-us', '2000', '--net-bandwidth-mbps', '1000', '--net-by', 'proxy')).toEqual({
    scale: 0.5,
    netDelayUs: 2000,
    netBandwidthMbps: 1000,
    netBy: 'proxy',
  });
  expect(() => settingsOf('--net-by', 'magic')).toThrow('Allowed choices are auto, kernel, proxy');
  process.env['HYBRID_NET_BY'] = 'magic';
  expect(() => settingsOf()).toThrow('netBy of hybrid must be one of auto, kernel, proxy, not magic');
});

test('a run goes on with no other scale, delay or network than it was started with', () => {
  const settings = { scale: 0.01, netDelayUs: 0, netBandwidthMbps: 0, netBy: 'auto' };
  const logged = { rows: {}, workers: [1], timeBudgetSeconds: 3, engines: {}, filters: {}, settings };
  const resume = (...words: string[]): unknown => {
    const request = { settings: settingsOf(...words) as Readonly<Record<string, string | number>> };
    return resumeRequest(request, logged).settings;
  };
  expect(resume()).toEqual(settings);
  expect(resume('--scale', '0.01', '--net-by', 'auto')).toEqual(settings);
  for (const [name, value] of [
    ['scale', '0.02'],
    ['net-delay-us', '100'],
    ['net-bandwidth-mbps', '10'],
    ['net-by', 'proxy'],
  ] as const) {
    expect(() => resume(`--${name}`, value), name).toThrow(/the run was started with \w+ .*, and can't go on with/);
  }
  process.env['HYBRID_SCALE'] = '0.02';
  expect(() => resume()).toThrow("the run was started with scale 0.01, and can't go on with 0.02");
});
