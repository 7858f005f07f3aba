"""What a Weir filter in Python is made of: subclass Filter, call serve().

Needs python3-grpcio and python3-protobuf, and the messages, made once with
    protoc -I proto --python_out=DIR proto/weir/filter/v1/filter.proto
and DIR in PYTHONPATH.
"""

from concurrent import futures

import grpc
from weir.filter.v1 import filter_pb2 as v1

UP = v1.PHASE_UP
DOWN = v1.PHASE_DOWN
NOTHING = v1.READS_NOTHING
HEADER = v1.READS_HEADER
BODY = v1.READS_BODY


class Filter:
    """One filter. `methods` lists what it offers: (name, phase, reads, changes, help).

    `timeout_ms` and `on_failure` ("open", "closed", "answer=TRANSIENT"...) are what calls get that it
    does not answer, where the plug does not say otherwise.
    """

    methods = []
    help = ""
    timeout_ms = 0  # not said
    on_failure = ""  # not said

    def judge(self, question):
        """Returns pass_(), or what bounces the call. May take its time; runs on several threads."""
        raise NotImplementedError


def pass_(body=None):
    """The call goes on, with `body` (a v1.Body) in place of its own if given."""
    answer = v1.Answer(**{"pass": v1.Pass()})
    if body is not None:
        getattr(answer, "pass").body.CopyFrom(body)
    return answer


def result(body):
    """Bounces the call with a result, encoded as v1.Body."""
    return v1.Answer(result=body)


def system_exception(name, minor=0, completed=None):
    """Bounces a request, or replaces a reply: system_exception("NO_PERMISSION").

    `completed`, a v1.SystemException.COMPLETED_..., is what the node knows if it is not given.
    """
    return v1.Answer(
        system_exception=v1.SystemException(name=name, minor=minor, completed=completed))


def redirect(object_key):
    """Sends a request to another object of the same server; its own filters apply."""
    return v1.Answer(redirect=object_key)


def redirect_to(reference):
    """Sends a request to an object of any server: "IOR:..." or "corbaloc:..."."""
    return v1.Answer(redirect_to=reference)


def user_exception(body):
    """The same with a user exception: its repository id and members, encoded as v1.Body."""
    return v1.Answer(user_exception=body)


class _Service(grpc.GenericRpcHandler):
    def __init__(self, filters):
        self._filters = filters  # by name; "" if there is only one

    def service(self, details):
        if details.method == "/weir.filter.v1.Filter/Describe":
            return grpc.unary_unary_rpc_method_handler(
                self._describe, v1.DescribeRequest.FromString,
                v1.DescribeResponse.SerializeToString)
        if details.method == "/weir.filter.v1.Filter/Judge":
            return grpc.stream_stream_rpc_method_handler(
                self._judge, v1.Question.FromString, v1.Answer.SerializeToString)
        return None

    def _find(self, name, context):
        if name not in self._filters:
            context.abort(grpc.StatusCode.NOT_FOUND, "no filter is named '%s'" % name)
        return self._filters[name]

    def _describe(self, request, context):
        found = self._find(request.name, context)
        response = v1.DescribeResponse(help=found.help)
        for name, phase, reads, changes, text in found.methods:
            response.methods.add(
                name=name, phase=phase, reads=reads, changes=changes, help=text,
                default_policy=v1.Policy(timeout_ms=found.timeout_ms, on_failure=found.on_failure))
        return response

    def _judge(self, questions, context):
        found = None
        for question in questions:
            if found is None:
                found = self._find(question.hello.name, context)
                continue
            try:
                answer = found.judge(question)
            except Exception as error:  # The plug's failure policy, and a line in the node's log.
                answer = v1.Answer(failure=repr(error))
            answer.ticket = question.ticket
            yield answer


def serve(filters, address, threads=16):
    """Serves a Filter, or several as {name: Filter}, at a gRPC address. Each plug takes a thread.

    Returns the grpc.Server, started; keep it, and call wait_for_termination() on it.
    """
    if isinstance(filters, Filter):
        filters = {"": filters}
    # Bodies may be large; gRPC would end the stream at 4 MiB, and with it fail every waiting call.
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=threads),
                         options=[("grpc.max_receive_message_length", -1),
                                  # Nodes may ask for signs of life (keepalive=) as often as 1 s.
                                  ("grpc.http2.min_ping_interval_without_data_ms", 500)])
    server.add_generic_rpc_handlers((_Service(filters),))
    if server.add_insecure_port(address) == 0 and not address.startswith("unix:"):
        raise OSError("cannot listen on " + address)
    server.start()
    return server
