"""Counts the results of `bazel test` runs. Prints what failed, then `N passed, N failed`.

Usage: count_tests.py FOLDER, with NAME.json (Bazel's build events) and NAME.code (its exit code) of
each run. Exits with 1 if anything failed, or if no test ran.

A case is what a test program lists in its XML report; a program without cases counts as one. What
does not build counts as one failure for each target.
"""

import glob
import json
import os
import sys
import urllib.parse
import xml.etree.ElementTree


def cases(path):
    """The (passed, failed names) of a test.xml; disabled and skipped cases are neither."""
    passed, failed = 0, []
    try:
        root = xml.etree.ElementTree.parse(path).getroot()
    except (OSError, xml.etree.ElementTree.ParseError):
        return 0, []
    for case in root.iter('testcase'):
        if case.get('status') == 'notrun' or case.get('result') in ('skipped', 'suppressed'):
            continue
        if case.find('skipped') is not None:
            continue
        if case.find('failure') is not None or case.find('error') is not None:
            failed.append('.'.join(filter(None, (case.get('classname'), case.get('name')))))
        else:
            passed += 1
    return passed, failed


def events(path):
    with open(path, encoding='utf-8') as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


class Run:
    """What one `bazel test` did."""

    def __init__(self, path):
        self.passed = 0
        self.failures = []
        reports = {}  # label -> paths of the last attempt of each run and shard
        tested = set()
        for event in events(path):
            key = event['id']
            if 'testResult' in key:
                where = key['testResult']
                part = (where.get('run'), where.get('shard'))
                for output in event.get('testResult', {}).get('testActionOutput', []):
                    if output['name'] == 'test.xml':
                        uri = urllib.parse.urlparse(output['uri'])
                        reports.setdefault(where['label'], {})[part] = (
                            urllib.parse.unquote(uri.path))
            elif 'testSummary' in key:
                label = key['testSummary']['label']
                tested.add(label)
                self.add(label, event['testSummary']['overallStatus'], reports.get(label, {}))
            elif 'targetCompleted' in key and not event.get('completed', {}).get('success'):
                label = key['targetCompleted']['label']
                # Bazel tells of a target that was left out, too, but not as a failure.
                if 'aborted' in event and event['aborted'].get('reason') in ('SKIPPED',):
                    continue
                if label not in tested:
                    self.failures.append(label + ' does not build')

    def add(self, label, status, paths):
        passed, failed = 0, []
        for path in paths.values():
            p, f = cases(path)
            passed += p
            failed += f
        if status in ('PASSED', 'FLAKY'):
            self.passed += passed or (0 if paths and all(map(os.path.exists, paths.values())) else 1)
            return
        self.passed += passed
        # A crash or a timeout has no case to its name.
        self.failures += [f'{label} {name}' for name in failed] or [f'{label} {status}']


def main(folder):
    passed = 0
    failures = []
    for code_path in sorted(glob.glob(os.path.join(folder, '*.code'))):
        name = os.path.basename(code_path)[:-len('.code')]
        with open(code_path, encoding='ascii') as file:
            code = int(file.read())
        run = Run(code_path[:-len('.code')] + '.json')
        if code != 0 and not run.failures:
            run.failures.append(f'bazel ended with exit code {code}')
        if not run.passed and not run.failures:
            run.failures.append('no test ran')
        print(f'{name}: {run.passed} passed, {len(run.failures)} failed')
        passed += run.passed
        failures += [f'{name}: {failure}' for failure in run.failures]
    for failure in failures:
        print('FAILED', failure)
    print(f'{passed} passed, {len(failures)} failed')
    return 1 if failures or not passed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
