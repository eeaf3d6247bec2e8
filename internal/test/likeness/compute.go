package likeness

import "time"

// compute are the rules of EC2 and of what runs in its networks.
func compute(endpoint string, took func(time.Duration) time.Duration) []Rule {
	interfaces, roles := &Interfaces{}, &Roles{Propagation: took(2 * time.Minute)}
	return []Rule{
		roles,
		&Visibility{Hidden: took(time.Minute)},
		&Network{Pending: took(time.Minute), Deleting: took(time.Minute), Endpoint: endpoint},
		&NetworkACLs{Unseen: took(20 * time.Second)},
		&Dependencies{Endpoint: endpoint, Interfaces: interfaces},
		&Peerings{Initiating: took(10 * time.Second), Provisioning: took(20 * time.Second),
			Deleting: took(20 * time.Second), Lagging: took(20 * time.Second)},
		&Instances{Pending: took(40 * time.Second), Stopping: took(time.Minute), ShuttingDown: took(time.Minute),
			Endpoint: endpoint},
		&LoadBalancers{Provisioning: took(3 * time.Minute), Lingering: took(5 * time.Minute), Endpoint: endpoint,
			Interfaces: interfaces},
		&DBInstances{Creating: took(5 * time.Minute), Modifying: took(3 * time.Minute), Optimizing: took(6 * time.Hour),
			Deleting: took(4 * time.Minute), Endpoint: endpoint, Interfaces: interfaces},
		&Services{ServiceRole: took(20 * time.Second), Draining: took(2 * time.Minute), Registering: took(time.Second),
			Endpoint: endpoint, Interfaces: interfaces},
		TaskDefinitions{},
		&Functions{Pending: took(time.Minute), Updating: took(20 * time.Second), Lingering: took(20 * time.Minute),
			Roles: roles, Interfaces: interfaces},
	}
}
