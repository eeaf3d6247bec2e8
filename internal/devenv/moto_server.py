# Runs the program moto_server, named by the first argument, with the others.
#
# For every request, and under one lock, moto_server 5 lists the folder of its services, and matches the host against
# the patterns of each of them. That takes more processor time than the answer itself. Here both are done once. What
# moto answers is the same. A version of moto without these functions runs as it is.
#
# Some answers are corrected: the network interface of a NAT gateway is requester-managed (Amazon EC2 User Guide,
# "Requester-managed network interfaces"). moto's cannot be told from one that a user has made. And an origin of a
# distribution keeps its origin access control (page Origin, CloudFront API Reference), which moto loses. Application
# Auto Scaling says that there is no such target or policy by ObjectNotFoundException, has policies of targets alone, and
# deletes them with their target (pages DeregisterScalableTarget, DeleteScalingPolicy and PutScalingPolicy of its API
# Reference); moto has ValidationException, and keeps policies of what there is not.
import functools
import runpy
import sys

sys.path[:] = [folder for folder in sys.path if folder]  # nothing of the folder in which it is started

try:
    import moto.backends
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication

    services = frozenset(moto.backends.list_of_moto_modules())
    moto.backends.list_of_moto_modules = lambda: services
    DomainDispatcherApplication.get_backend_for_host = functools.lru_cache(maxsize=4096)(
        DomainDispatcherApplication.get_backend_for_host
    )
except (ImportError, AttributeError):
    pass

try:
    from moto.ec2.models.nat_gateways import NatGateway

    make_gateway = NatGateway.__init__

    @functools.wraps(make_gateway)
    def make_with_interface(gateway, *args, **kwargs):
        make_gateway(gateway, *args, **kwargs)
        gateway._eni.requester_managed = True
        gateway._eni.interface_type = "nat_gateway"

    NatGateway.__init__ = make_with_interface
except (ImportError, AttributeError):
    pass

try:
    from moto.cloudfront.models import Origin

    make_origin = Origin.__init__

    @functools.wraps(make_origin)
    def make_with_control(made, origin, *args, **kwargs):
        make_origin(made, origin, *args, **kwargs)
        made.origin_access_control_id = origin.get("OriginAccessControlId") or ""

    Origin.__init__ = make_with_control
except (ImportError, AttributeError):
    pass

try:
    from moto.applicationautoscaling.models import ApplicationAutoscalingBackend as Scaling
    from moto.core.exceptions import JsonRESTError

    deregister, delete_policy, put_policy = (
        Scaling.deregister_scalable_target,
        Scaling.delete_scaling_policy,
        Scaling.put_scaling_policy,
    )

    def require_target(backend, namespace, resource, dimension):
        if not backend._scalable_target_exists(resource, dimension):
            raise JsonRESTError(
                "ObjectNotFoundException",
                f"No scalable target registered for service namespace: {namespace}, resource ID: {resource}, "
                f"scalable dimension: {dimension}",
            )

    @functools.wraps(deregister)
    def deregister_with_policies(backend, namespace, r_id, dimension):
        require_target(backend, namespace, r_id, dimension)
        deregister(backend, namespace, r_id, dimension)
        for policy in list(backend.policies.values()):
            if (policy.service_namespace, policy.resource_id, policy.scalable_dimension) == (namespace, r_id, dimension):
                delete_policy(backend, policy.policy_name, namespace, r_id, dimension)

    @functools.wraps(delete_policy)
    def delete_known_policy(backend, policy_name, service_namespace, resource_id, scalable_dimension):
        named = [
            p
            for p in backend.policies.values()
            if (p.policy_name, p.service_namespace, p.resource_id, p.scalable_dimension)
            == (policy_name, service_namespace, resource_id, scalable_dimension)
        ]
        if not named:
            raise JsonRESTError("ObjectNotFoundException", f"No scaling policy found for policy name: {policy_name}")
        delete_policy(backend, policy_name, service_namespace, resource_id, scalable_dimension)

    @functools.wraps(put_policy)
    def put_policy_of_target(backend, policy_name, service_namespace, resource_id, scalable_dimension, *args, **kwargs):
        require_target(backend, service_namespace, resource_id, scalable_dimension)
        return put_policy(backend, policy_name, service_namespace, resource_id, scalable_dimension, *args, **kwargs)

    Scaling.deregister_scalable_target = deregister_with_policies
    Scaling.delete_scaling_policy = delete_known_policy
    Scaling.put_scaling_policy = put_policy_of_target
except (ImportError, AttributeError):
    pass

sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
